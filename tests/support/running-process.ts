import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onSqlite, sqliteProgram } from './sqlite.ts'

const ROOT = join(import.meta.dirname, '../..')
/** What node is started with as `latchkey`: the program of this checkout, or that of the example on SQLite. */
export const latchkeyProgram = onSqlite ? sqliteProgram : { args: [join(ROOT, 'bin/latchkey.js')], env: {} }

/** Settings of a service for what is not about guessing: all tests come from one address. */
export const UNTHROTTLED = { LOGIN_LIMIT_ACCOUNT: 'off', LOGIN_LIMIT_ADDRESS: 'off' }

/** For what runs none of `src`, or what other tests cover: being counted takes a process a quarter longer. */
export const UNCOUNTED = { NODE_V8_COVERAGE: '' }

/** How long a process may take for what a test waits for. */
const TIMEOUT_MS = 60_000

/** How a process ended and all that it wrote. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  readonly ms: number
}

/** A program that runs as its user would run it. */
export interface RunningProcess {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  readonly ended: Promise<Ended>
  /** Resolves once the pattern is on either stream; rejects when the process ends before. */
  until(pattern: RegExp): Promise<RegExpMatchArray>
}

/** Environment of a fresh machine: nothing of this run's settings gets through. */
function cleanEnv(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  // So that coverage counts what runs in there.
  const coverage = process.env.NODE_V8_COVERAGE
  return { PATH, HOME, ...(coverage === undefined ? {} : { NODE_V8_COVERAGE: coverage }), ...env }
}

/**
 * Starts a program; `input` is all of its standard input, which stays open where it is null. One that is detached hears
 * no Ctrl-C of the terminal.
 */
export function startProcess(
  command: string,
  args: readonly string[],
  {
    cwd,
    env = {},
    input = '',
    detached = false,
  }: {
    readonly cwd: string
    readonly env?: Record<string, string>
    readonly input?: string | null
    readonly detached?: boolean
  },
): RunningProcess {
  const beganMs = performance.now()
  const child = spawn(command, args, { cwd, env: cleanEnv(env), stdio: ['pipe', 'pipe', 'pipe'], detached })
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
    child.once('error', reject)
    child.once('close', (code, signal) => {
      over = true
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

/** The words that start `latchkey`, as a line for a shell. */
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

/** Runs `latchkey` to its end. */
export function runLatchkey(
  args: readonly string[],
  options: Parameters<typeof startProcess>[2],
): Promise<Ended> {
  return startLatchkey(args, options).ended
}

/** A folder of a test's own that every account may pass through. */
export async function temporaryFolder(): Promise<{ path: string; remove(): void }> {
  const path = mkdtempSync(join(tmpdir(), 'latchkey-test-'))
  await chmod(path, 0o755)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
