import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { type Host, thisHost } from '../../../src/adapters/embedded-postgres/host.ts'
import { openEmbeddedPostgres } from '../../../src/adapters/embedded-postgres/open-embedded-postgres.ts'
import { stopPostmaster } from '../../../src/adapters/embedded-postgres/postmaster.ts'

/** A fact that the opener process prints, one JSON object a line. */
export interface Fact {
  readonly opened?: boolean
  readonly url?: string
  readonly dataDir?: string
  readonly created?: boolean
  readonly notes?: string[]
  readonly tookMs?: number
  readonly closed?: boolean
  readonly refused?: string
  readonly message?: string
  readonly event?: string
  readonly reason?: string
  readonly ended?: string
}

/** A process that opens the embedded PostgreSQL, and its facts. */
export interface Opener {
  /** Resolves with the first fact, past or future, that `matches`; rejects when the opener ends without it. */
  fact(matches: (fact: Fact) => boolean): Promise<Fact>
  opened(): Promise<Fact & { url: string; dataDir: string }>
  refusal(): Promise<string>
  close(): Promise<Fact>
}

/** An opener in a separate process; `close` waits until that process has ended by itself. */
export interface ProcessOpener extends Opener {
  kill(): Promise<void>
}

export interface OpenerOptions {
  readonly dataDir?: string
  readonly home: string
  readonly role: 'service' | 'command'
  readonly host?: Partial<Host> & { packageFile?: string }
}

const OPENER = fileURLToPath(new URL('opener.ts', import.meta.url))

/** Ends the openers of a test before its folder is removed. */
const enders = new WeakMap<TestContext, (() => Promise<unknown>)[]>()

/** Creates a test folder that other accounts may enter; after the test, its servers are stopped and it is removed. */
export function testFolder(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'lk-')))
  chmodSync(folder, 0o755)
  t.after(async () => {
    for (const end of enders.get(t) ?? []) await end()
    for (const cluster of clustersIn(folder)) await stopPostmaster(cluster)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return folder
}

let prepared: Promise<string> | undefined

/** Creates a test folder with a cluster in `data`: a copy of one that is created once for each test file. */
export async function preparedFolder(t: TestContext): Promise<string> {
  prepared ??= prepare()
  const folder = testFolder(t)
  execFileSync('cp', ['-a', join(await prepared, 'data'), folder])
  return folder
}

async function prepare(): Promise<string> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'lk-')))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  const opened = await openEmbeddedPostgres({ dataDir: undefined, home: folder, role: 'command' })
  await opened.close()
  return folder
}

/** Opens the embedded PostgreSQL in this process; it is closed after the test. */
export function openHere(t: TestContext, { host = {}, home, dataDir, role }: OpenerOptions): Opener {
  const log = factLog()
  const since = performance.now()
  const opening = openEmbeddedPostgres(
    { home, dataDir, role, onEvent: (event, fields) => log.add({ event, ...fields }) },
    hostWith(host),
  )
  opening.then(
    ({ url, dataDir, created, notes }) =>
      log.add({ opened: true, url, dataDir, created, notes: [...notes], tookMs: msSince(since) }),
    (error: Error) => log.add({ refused: error.name, message: error.message, ended: 'refused' }),
  )
  endAfter(t, async () => (await opening.catch(() => undefined))?.close())
  return {
    ...log.reader,
    async close() {
      const closingSince = performance.now()
      await (await opening).close()
      return { closed: true, tookMs: msSince(closingSince) }
    },
  }
}

/** Opens it in another process, optionally as another account; that process is killed after the test. */
export function openInProcess(
  t: TestContext,
  options: OpenerOptions,
  { as, env }: { as?: { uid: number; gid: number }; env?: Record<string, string> } = {},
): ProcessOpener {
  const { host = {}, ...rest } = options
  const log = factLog()
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', OPENER, JSON.stringify(rest), JSON.stringify(host)],
    { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env }, ...as },
  )
  createInterface({ input: child.stdout }).on('line', (line) => log.add(JSON.parse(line)))
  const exited = new Promise<void>((resolve) => {
    child.once('close', (code, signal) => {
      log.add({ ended: String(code ?? signal) })
      resolve()
    })
  })
  child.stdin.on('error', () => {})
  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await exited
  }
  endAfter(t, kill)
  return {
    ...log.reader,
    kill,
    async close() {
      child.stdin.write('close\n')
      const closed = await log.reader.fact((one) => one.closed === true)
      await exited
      return closed
    },
  }
}

/** Returns this machine with some properties replaced. */
export function hostWith({ packageFile, ...facts }: Partial<Host> & { packageFile?: string }): Host {
  const host = { ...thisHost(), ...facts }
  return packageFile === undefined ? host : { ...host, resolvePackage: () => packageFile }
}

/** Ends a process of the test before its folder is removed. */
export function endAfter(t: TestContext, end: () => Promise<unknown>): void {
  enders.set(t, [...(enders.get(t) ?? []), end])
}

function factLog() {
  const facts: Fact[] = []
  let notify = () => {}
  async function fact(matches: (fact: Fact) => boolean): Promise<Fact> {
    for (;;) {
      const found = facts.find(matches)
      if (found !== undefined) return found
      if (facts.at(-1)?.ended !== undefined) throw new Error(`it ended: ${JSON.stringify(facts)}`)
      await new Promise<void>((resolve) => {
        const before = notify
        notify = () => {
          before()
          resolve()
        }
      })
    }
  }
  return {
    add(one: Fact) {
      facts.push(one)
      const waiting = notify
      notify = () => {}
      waiting()
    },
    reader: {
      fact,
      opened: async () =>
        (await fact((one) => one.opened === true)) as Fact & { url: string; dataDir: string },
      refusal: async () => (await fact((one) => one.refused === 'EmbeddedPostgresRefused')).message ?? '',
    },
  }
}

function msSince(began: number): number {
  return Math.round(performance.now() - began)
}

/** Runs one statement on a new connection. */
export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Returns the process ids of the postmasters of a cluster, including children that were just forked. */
export function postmastersOf(cluster: string): number[] {
  const pids = serverProcessesOf(cluster)
  return pids.filter((pid) => {
    try {
      const parent = Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1])
      return !pids.includes(parent) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('\0-D\0')
    } catch {
      return false
    }
  })
}

/** Returns the process ids of all PostgreSQL processes of a cluster. */
export function serverProcessesOf(cluster: string): number[] {
  const here = statSync(cluster, { throwIfNoEntry: false })
  if (here === undefined) return []
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return pid > 0 && statSync(`/proc/${pid}/cwd`).ino === here.ino && commOf(pid) === 'postgres'
      } catch {
        return false
      }
    })
}

/** Retries until `check` does not throw, and returns its result. Throws its last error after `timeoutMs`. */
export async function eventually<T>(check: () => Promise<T> | T, timeoutMs = 10_000): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > deadline) throw error
      await sleep(20)
    }
  }
}

function commOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
}

function clustersIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name === 'PG_VERSION')
    .map((entry) => entry.parentPath)
}
