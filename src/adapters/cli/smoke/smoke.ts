import { type Io, write } from '../io.ts'
import { printable } from '../printable.ts'
import { Refusal } from '../refusal.ts'
import { type Answer, ask } from './ask.ts'

/** What is to be smoked out: a balancer, or each of the instances. */
export interface SmokeOptions {
  readonly urls: readonly URL[]
  readonly email: string
  readonly password: string
  /** New connections to each address, before the logout and after it. */
  readonly connections: number
}

const WAVES = 5
/** Together longer than a lease, so that an instance that obeys late is met. */
const PAUSE_MS = 300
/** How long an instance that goes on accepting is watched. */
const TIMEOUT_MS = 10_000

/**
 * A whole login, me and logout at running instances, one line a step; then many new connections, each of which must be
 * refused. Throws `Refusal` at the first thing that is wrong.
 */
export async function smoke({ urls, email, password, connections }: SmokeOptions, io: Io): Promise<void> {
  const [first] = urls
  if (first === undefined) return
  for (const url of urls) {
    await step('reached', async () => {
      expected(await ask(url, '/api/me'), 401, 'missing_token')
      return url.href
    })
  }
  let token = ''
  await step('login', async () => {
    const { body } = expected(await ask(first, '/api/login', { body: { email, password } }), 200)
    token = String(body.token)
    return 'an earlier login token of this customer is revoked by it'
  })
  try {
    await step('me', async () => {
      let asked = 0
      // So often that every instance behind a balancer keeps it.
      for (let waves = 0; waves < WAVES; waves++) {
        const answers = await askWave()
        for (const answer of answers) expected(answer, 200)
        asked += answers.length
      }
      return `200 on ${asked} new connections`
    })
  } catch (error) {
    await ask(first, '/api/logout', { token }).catch(() => {})
    throw error
  }
  await step('logout', async () => {
    expected(await ask(first, '/api/logout', { token }), 200)
    return ''
  })
  await step('revoked', refusedEverywhere)

  async function step(name: string, work: () => Promise<string>): Promise<void> {
    const beganMs = performance.now()
    try {
      const detail = await work()
      const took = `${Math.round(performance.now() - beganMs)} ms`
      await write(io.stdout, `ok  ${name.padEnd(7)}  ${took.padStart(8)}  ${detail}`.trimEnd().concat('\n'))
    } catch (error) {
      throw error instanceof Refusal ? new Refusal(`${name}: ${error.message}`) : error
    }
  }

  /** Every connection begins after the answer to the logout. */
  async function refusedEverywhere(): Promise<string> {
    const beganMs = performance.now()
    let asked = 0
    let accepted = 0
    let acceptedMs = 0
    for (let waves = 0; waves < WAVES || performance.now() - beganMs < TIMEOUT_MS; waves++) {
      if (waves > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      const answers = await askWave()
      const late = answers.filter(({ status }) => status === 200)
      for (const answer of answers) if (answer.status !== 200) expected(answer, 401, 'invalid_token')
      asked += answers.length
      accepted += late.length
      acceptedMs = Math.max(acceptedMs, ...late.map(({ sentMs }) => sentMs - beganMs))
      if (waves >= WAVES - 1 && late.length === 0) break
    }
    if (accepted === 0) return `401 on ${asked} of ${asked} new connections, from the logout on`
    throw new Refusal(
      `${accepted} of ${asked} new connections were accepted after the logout, the last ${Math.round(acceptedMs)} ms after it.`,
    )
  }

  async function askWave(): Promise<readonly Answer[]> {
    const count = Math.ceil(connections / WAVES)
    const asked = urls.flatMap((url) => Array.from({ length: count }, () => ask(url, '/api/me', { token })))
    return Promise.all(asked)
  }
}

function expected(answer: Answer, status: number, reason: string | null = null): Answer {
  if (answer.status === status && answer.reason === reason) return answer
  const told =
    answer.reason === null ? 'success' : `${answer.reason}: ${printable(String(answer.body.error))}`
  throw new Refusal(`${answer.status} ${told} (expected ${status}${reason === null ? '' : ` ${reason}`})`)
}
