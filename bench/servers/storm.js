// Callers of a service: some log in, one login after another, while others ask who they are, at a steady pace. Takes
// what to do as JSON and prints what came of it. Who is told to log in later does; any other failure ends it.
import { Agent, request } from 'node:http'

const { url, seconds, logins, mePerSecond, token, password } = JSON.parse(process.argv[2])
const agent = new Agent({ keepAlive: true, maxSockets: 256 })

let loggedIn = 0
let refused = 0
const times = []
const startedMs = performance.now()
// Until then nothing counts: the first logins all begin at once, and what is under way at the end stands against it.
const beganMs = startedMs + 1000
const endMs = beganMs + seconds * 1000
await Promise.all([...logins.map(logInAgain), ask()])
times.sort((a, b) => a - b)
const at = (share) => times[Math.floor((times.length - 1) * share)] ?? 0
process.stdout.write(
  `${JSON.stringify({ loginsPerSecond: loggedIn / seconds, refused, p50Ms: at(0.5), p99Ms: at(0.99) })}\n`,
)
agent.destroy()

async function logInAgain(email) {
  const body = JSON.stringify({ email, password })
  while (performance.now() < endMs) {
    const status = await call('/api/login', { 'Content-Type': 'application/json' }, body)
    if (status === 503) {
      refused += 1
      await new Promise((resolve) => setTimeout(resolve, 1000))
    } else if (status !== 200) throw new Error(`A login was answered ${status}.`)
    else if (isCounted()) loggedIn += 1
  }
}

// By the clock, not by the answers: a slow one makes those behind it late as well, and that is measured.
async function ask() {
  const asked = []
  while (mePerSecond > 0 && performance.now() < endMs) {
    while (asked.length < ((performance.now() - startedMs) / 1000) * mePerSecond) asked.push(me())
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await Promise.all(asked)
}

async function me() {
  const fromMs = performance.now()
  const status = await call('/api/me', { Authorization: `Bearer ${token}` }, '')
  if (status !== 200) throw new Error(`Who am I was answered ${status}.`)
  if (fromMs >= beganMs) times.push(performance.now() - fromMs)
}

function isCounted() {
  return performance.now() >= beganMs && performance.now() < endMs
}

function call(path, headers, body) {
  return new Promise((resolve, reject) => {
    const asking = request(url + path, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode))
    })
    asking.once('error', reject)
    asking.end(body)
  })
}
