import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { join } from 'node:path'
import { interruption } from './interruption.ts'

/** What is sent, and for how long. */
export interface Load {
  readonly url: string
  /** Such as `POST /api/me`. */
  readonly request: string
  /** The bearer token of every request, or a file with one a line that are used in turn; none for neither. */
  readonly token?: string
  readonly tokens?: string
  /** The status that every answer has. */
  readonly status?: number
  readonly connections: number
  readonly seconds: number
  /** The processor that the load may use, where programs can be bound to one. */
  readonly cpu?: number | undefined
}

/** What came back. */
export interface Answered {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Which program makes the load: wrk where it is installed, else autocannon, a package of the benchmark. */
export const loadProgram = spawnSync('wrk', ['-v']).error === undefined ? 'wrk' : 'autocannon'

const hasTaskset = spawnSync('taskset', ['--version']).error === undefined

/** A command bound to one processor, where that can be done. */
export function boundTo(cpu: number | undefined, command: readonly string[]): readonly string[] {
  return cpu === undefined || !hasTaskset ? command : ['taskset', '-c', String(cpu), ...command]
}

/** Loads a server; throws when an answer was wrong, so that no figure comes of wrong answers. */
export async function load(options: Load): Promise<Answered> {
  const length = await lengthOfAnswer(options)
  return loadProgram === 'wrk' ? byWrk(options, length) : byAutocannon(options, length)
}

async function byWrk(options: Load, length: number): Promise<Answered> {
  const { url, request, token, tokens, connections, seconds, cpu, status = 200 } = options
  const [method = '', path = ''] = request.split(' ')
  const command = [
    'wrk',
    ...['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '10s'],
    ...['-s', join(import.meta.dirname, 'load.lua'), url + path],
  ]
  const output = await outputOf(boundTo(cpu, command), {
    LOAD_METHOD: method,
    ...(token === undefined ? {} : { LOAD_TOKEN: token }),
    ...(tokens === undefined ? {} : { LOAD_TOKENS: tokens }),
  })
  const result = /^RESULT (.*)$/m.exec(output)?.[1]
  if (result === undefined) throw new Error(`wrk says nothing of its result: ${output}`)
  const { requests, bytes, microseconds, p50, p99, failed } = JSON.parse(result)
  if (requests === 0) throw new Error(`${url} answered nothing.`)
  const refused = status < 400 ? failed : failed - requests
  if (refused !== 0) throw new Error(`${refused} of ${requests} answers of ${url} were wrong or missing.`)
  // Every answer is as long as the one that was looked at; some may not have come whole when the time was over.
  if (Math.abs(bytes - requests * length) > connections * length)
    throw new Error(`The answers of ${url} have ${bytes / requests} bytes on average, and one had ${length}.`)
  return { perSecond: (requests / microseconds) * 1e6, p50Ms: p50 / 1000, p99Ms: p99 / 1000 }
}

async function byAutocannon(options: Load, length: number): Promise<Answered> {
  const { url, request, token, tokens, connections, seconds, status = 200 } = options
  const [method, path = ''] = request.split(' ')
  const { readFileSync } = await import('node:fs')
  const secrets =
    tokens === undefined ? [token] : readFileSync(tokens, 'utf8').trim().split('\n').slice(0, 1000)
  const autocannon = createRequire(join(import.meta.dirname, 'package.json'))('autocannon')
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: secrets.map((secret) => ({
      method,
      path,
      headers: secret === undefined ? {} : { Authorization: `Bearer ${secret}` },
    })),
  })
  const counts: Readonly<Record<string, { readonly count: number }>> = result.statusCodeStats ?? {}
  const answered = Object.values(counts).reduce((sum, { count }) => sum + count, 0)
  const right = counts[status]?.count ?? 0
  const wrong = answered - right + result.errors
  if (right === 0 || wrong !== 0)
    throw new Error(
      `${wrong} of ${answered} answers of ${url} were wrong: ${JSON.stringify(counts)}, ${result.errors} errors, ${result.timeouts} timed out.`,
    )
  if (Math.abs(result.throughput.total - right * length) > connections * length)
    throw new Error(`The answers of ${url} are not all ${length} bytes long.`)
  return {
    perSecond: answered / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  }
}

/** Bytes of the answer to the load's first request, head included. */
async function lengthOfAnswer({ url, request, token, tokens, status = 200 }: Load): Promise<number> {
  const { readFileSync } = await import('node:fs')
  const secret = tokens === undefined ? token : readFileSync(tokens, 'utf8').split('\n', 1)[0]
  const [method, path] = request.split(' ')
  const { hostname, port, host } = new URL(url)
  const authorization = secret === undefined ? '' : `Authorization: Bearer ${secret}\r\n`
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let answer = Buffer.alloc(0)
    socket.on('error', reject)
    socket.on('data', (bytes) => {
      answer = Buffer.concat([answer, bytes])
      const head = answer.indexOf('\r\n\r\n')
      const text = answer.toString('latin1')
      const body = Number(/^content-length: (\d+)/im.exec(text)?.[1])
      if (head === -1 || answer.length < head + 4 + body) return
      socket.destroy()
      if (text.startsWith(`HTTP/1.1 ${status} `)) resolve(answer.length)
      else reject(new Error(`${url} answers ${text}`))
    })
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\n`)
  })
}

function outputOf(
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: interruption.signal,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  return ended(child).then(() => output)
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${child.spawnfile}: ${code}`))))
  })
}
