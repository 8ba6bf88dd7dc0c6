import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './part.ts'
import { cpuSeconds, output, pinned } from './processes.ts'
import type { RunningServer } from './server.ts'

const CLIENT = join(import.meta.dirname, 'clients/client.js')
const WRK = join(import.meta.dirname, 'clients/wrk.lua')
/** Separates the requests in a file: no request contains it. */
const SEPARATOR = '\u0001'

/** The program that sends each request as soon as the response before it has arrived: wrk where it is installed, else `clients/client.js`. */
export const loadGenerator = spawnSync('wrk', ['-v']).error === undefined ? 'wrk' : 'clients/client.js'

/** A steady load. */
export interface Load {
  /** Whole requests as text, used in turn. */
  readonly requests: readonly string[]
  /** The status of every response. Default: 200. */
  readonly status?: number
  readonly connections: number
  readonly seconds: number
  /** Whether the load has a processor to itself. Default: true. */
  readonly isPinned?: boolean
}

/** The result of a load; all responses had the expected status. */
export type LoadResult = {
  readonly requests: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** The figures of a server under load. */
export type Measurement = LoadResult & {
  /** User and system time of the server's processes for each request, in microseconds; NaN without `/proc`. */
  readonly cpuUs: number
}

/** What `clients/client.js` sends on one set of connections; see there. */
export interface Stream {
  readonly requests: readonly string[]
  readonly connections: number
  readonly status?: number
  readonly ratePerSecond?: number
  readonly isOnce?: boolean
  readonly isRetried?: boolean
  readonly pipelined?: number
}

/** What a stream has seen since the warm-up. */
export type StreamResult = LoadResult & {
  readonly failed: number
  /** The number of 503 responses that were retried. */
  readonly refused: number
  readonly p999Ms: number
}

/** Returns a request as text. */
export function httpRequest(
  request: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): string {
  const all = { Host: '127.0.0.1', ...headers, ...(body && { 'Content-Length': String(body.length) }) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${request} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
}

export function meRequest(secret: string): string {
  return httpRequest('POST /api/me', { Authorization: `Bearer ${secret}` })
}

export function logoutRequest(secret: string): string {
  return httpRequest('POST /api/logout', { Authorization: `Bearer ${secret}` })
}

export function loginRequest(email: string, password: string): string {
  return httpRequest(
    'POST /api/login',
    { 'Content-Type': 'application/json' },
    JSON.stringify({ email, password }),
  )
}

/** Warms the server up for as long as it is measured, at most a second, then measures it. Throws when a response fails. */
export async function measure(bench: Bench, server: RunningServer, load: Load): Promise<Measurement> {
  await generate(bench, server.url, { ...load, seconds: Math.min(1, load.seconds) })
  const before = cpuSeconds(server.pid)
  const result = await generate(bench, server.url, load)
  return { ...result, cpuUs: ((cpuSeconds(server.pid) - before) / result.requests) * 1e6 }
}

/** Returns the bytes that a warm server allocates on its heap for each request. */
export async function allocatedBytes(bench: Bench, server: RunningServer, load: Load): Promise<number> {
  await server.probe('start')
  const { requests } = await generate(bench, server.url, { ...load, seconds: 1 })
  return (await server.probe('stop')) / requests
}

/** Sends requests with the own client. `seconds` count after a second of warm-up, which is not counted. */
export async function runClient<Name extends string>(
  bench: Bench,
  url: string,
  streams: Readonly<Record<Name, Stream>>,
  options: { readonly seconds: number; readonly warmSeconds?: number; readonly isPinned?: boolean },
): Promise<Readonly<Record<Name, StreamResult>>> {
  const { isPinned = false, ...durations } = options
  const file = join(bench.folder, `client-${randomUUID()}.json`)
  writeFileSync(file, JSON.stringify({ url, warmSeconds: 1, ...durations, streams }))
  return JSON.parse(await output(bench, pinned(isPinned ? 'load' : null, [process.execPath, CLIENT, file])))
}

async function generate(bench: Bench, url: string, load: Load): Promise<LoadResult> {
  if (loadGenerator === 'wrk') return runWrk(bench, url, load)
  const { seconds, isPinned = true, ...stream } = load
  const { load: result } = await runClient(
    bench,
    url,
    { load: stream },
    { seconds, warmSeconds: 0, isPinned },
  )
  if (result.failed > 0) throw new Error(`${result.failed} responses of ${url} failed.`)
  return result
}

async function runWrk(bench: Bench, url: string, load: Load): Promise<LoadResult> {
  const { requests, status = 200, connections, seconds, isPinned = true } = load
  const file = join(bench.folder, `requests-${randomUUID()}`)
  writeFileSync(file, requests.join(SEPARATOR))
  const options = ['-t', '1', '-c', String(connections), '-d', `${Math.ceil(seconds)}s`, '--timeout', '10s']
  const command = pinned(isPinned ? 'load' : null, ['wrk', ...options, '-s', WRK, url])
  const text = await output(bench, command, { BENCH_REQUESTS: file, BENCH_STATUS: String(status) })
  const result = /^RESULT (.*)$/m.exec(text)?.[1]
  if (result === undefined) throw new Error(`wrk printed no result: ${text}`)
  const { requests: count, microseconds, p50, p99, failed } = JSON.parse(result)
  if (count === 0 || failed > 0) throw new Error(`${failed} of ${count} responses of ${url} failed.`)
  return { requests: count, perSecond: (count / microseconds) * 1e6, p50Ms: p50 / 1000, p99Ms: p99 / 1000 }
}
