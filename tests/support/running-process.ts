import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onSqlite, sqliteProgram } from './sqlite.ts'

const ROOT = join(import.meta.dirname, '../..')
/** The arguments that make Node run `latchkey`: as the runner built it, from this checkout, or from the SQLite example. */
export const latchkeyProgram = onSqlite
  ? sqliteProgram
  : { args: [process.env.TEST_PROGRAM ?? join(ROOT, 'bin/latchkey.js')], env: {} }

/** Settings for tests that are not about guessing: all tests come from one address. */
export const UNTHROTTLED = { LOGIN_LIMIT_ACCOUNT: 'off', LOGIN_LIMIT_ADDRESS: 'off' }

/** For programs that run no code of `src`, or code that other tests cover. Coverage slows a process by a quarter. */
export const UNCOUNTED = { NODE_V8_COVERAGE: '' }

/** The time limit for output that a test waits for, in milliseconds. */
const TIMEOUT_MS = 60_000

/** After this time a command that does not end is killed, so that its test fails by name, in milliseconds. */
const COMMAND_LIMIT_MS = 300_000

/** The exit of a process and its output. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  readonly ms: number
}

/** A program that runs like a user's. */
export interface RunningProcess {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  readonly ended: Promise<Ended>
  /** Resolves when either stream matches the pattern. Rejects when the process exits first. */
  until(pattern: RegExp): Promise<RegExpMatchArray>
}

const running = new Set<ChildProcess>()
// A test that fails may leave a process, for which its file would wait for ever.
if (process.env.NODE_TEST_CONTEXT !== undefined)
  after(() => {
    for (const child of running) child.kill('SIGKILL')
  })

/** The environment of a fresh machine, without this run's settings. */
function cleanEnv(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  // Passes coverage on to the child process.
  const coverage = process.env.NODE_V8_COVERAGE
  return { PATH, HOME, ...(coverage === undefined ? {} : { NODE_V8_COVERAGE: coverage }), ...env }
}

/**
 * Starts a program. `input` is its whole standard input, which stays open when it is null. A detached program does not
 * receive the terminal's Ctrl-C. After `timeout` milliseconds, without a limit by default, the process is killed.
 */
export function startProcess(
  command: string,
  args: readonly string[],
  {
    cwd,
    env = {},
    input = '',
    detached = false,
    timeout = 0,
  }: {
    readonly cwd: string
    readonly env?: Record<string, string>
    readonly input?: string | null
    readonly detached?: boolean
    readonly timeout?: number
  },
): RunningProcess {
  const beganMs = performance.now()
  const child = spawn(command, args, {
    cwd,
    env: cleanEnv(env),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached,
    timeout,
    killSignal: 'SIGKILL',
  })
  running.add(child)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  child.stdin.on('error', () => {})
  if (input !== null) child.stdin.end(input)
  let over = false
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', (error) => {
      running.delete(child)
      reject(error)
    })
    child.once('close', (code, signal) => {
      over = true
      running.delete(child)
      resolve({ code, signal, stdout, stderr, ms: performance.now() - beganMs })
    })
  })
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    async until(pattern) {
      for (const endMs = performance.now() + TIMEOUT_MS; performance.now() < endMs; ) {
        const found = pattern.exec(stdout) ?? pattern.exec(stderr)
        if (found !== null) return found
        if (over) throw new Error(`ended before ${pattern}: ${stdout}${stderr}`)
        await sleep(10)
      }
      child.kill('SIGKILL')
      throw new Error(`nothing like ${pattern} came: ${stdout}${stderr}`)
    },
  }
}

/** The shell command line that runs `latchkey`. */
export function shellCommand(...args: readonly string[]): string {
  return [process.execPath, ...latchkeyProgram.args, ...args].map((word) => `'${word}'`).join(' ')
}

/** Starts `latchkey` in a folder. */
export function startLatchkey(
  args: readonly string[],
  options: Parameters<typeof startProcess>[2],
): RunningProcess {
  const env = { ...latchkeyProgram.env, ...options.env }
  return startProcess(process.execPath, [...latchkeyProgram.args, ...args], { ...options, env })
}

/** Runs `latchkey` until it exits, five minutes at most. */
export function runLatchkey(
  args: readonly string[],
  options: Parameters<typeof startProcess>[2],
): Promise<Ended> {
  return startLatchkey(args, { timeout: COMMAND_LIMIT_MS, ...options }).ended
}

/** Creates a temporary folder that every user may traverse. */
export async function temporaryFolder(): Promise<{ path: string; remove(): void }> {
  const path = mkdtempSync(join(tmpdir(), 'latchkey-test-'))
  await chmod(path, 0o755)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
