import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Bench, NodeVersion } from './part.ts'
import { pinned } from './processes.ts'

const START_TIMEOUT_MS = 30_000
const PROBE = pathToFileURL(join(import.meta.dirname, 'probe.js')).href

/** A program to measure. It prints `"address":"http://…"` when it serves, and exits on SIGTERM. */
export interface Candidate {
  readonly name: string
  /** The arguments of Node. */
  readonly program: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Whether the process has a processor to itself, separate from the load. */
  readonly isPinned?: boolean
}

/** A running candidate. */
export interface RunningServer {
  readonly name: string
  readonly url: string
  readonly pid: number
  /** What it had printed when it served. */
  readonly output: string
  /** Sends a command to the probe in the process; see `probe.js`. */
  probe(command: 'start' | 'stop' | 'collect'): Promise<number>
}

/** A bare node:http server that sends 180 bytes with two headers: the limit for one process. */
export const bare: Candidate = {
  name: 'bare node:http',
  program: [join(import.meta.dirname, 'servers/bare.js')],
  isPinned: true,
}

/** Runs `use` with a fresh process of the candidate, and ends the process. */
export async function withServer<T>(
  candidate: Candidate,
  { folder, signal }: Bench,
  node: NodeVersion,
  use: (server: RunningServer) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const id = randomUUID()
  const socket = join(folder, `${id}.sock`)
  const { name, program, env = {}, isPinned = false } = candidate
  const [command = '', ...args] = pinned(isPinned ? 'server' : null, [
    node.path,
    '--import',
    PROBE,
    ...program,
  ])
  // A file, not a pipe: reading a pipe would take processor time during the measurement.
  const file = join(folder, `${id}.log`)
  const fd = openSync(file, 'w')
  const child = spawn(command, args, {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE_ENV: 'production',
      BENCH_PROBE: socket,
      ...env,
    },
    stdio: ['ignore', fd, fd],
  })
  closeSync(fd)
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  try {
    for (const endMs = performance.now() + START_TIMEOUT_MS; ; await sleep(10)) {
      const output = readFileSync(file, 'utf8')
      const url = /"address":"(http:[^"]+)"/.exec(output)?.[1]
      if (url !== undefined) return await use({ name, url, pid: child.pid ?? 0, output, probe })
      if (child.exitCode !== null || performance.now() > endMs)
        throw new Error(`${name} on Node ${node.version} does not serve: ${output}`)
    }
  } finally {
    child.kill('SIGTERM')
    await ended
  }

  async function probe(command: string): Promise<number> {
    const connection = connect(socket)
    connection.write(command)
    return Number(await text(connection))
  }
}
