import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stopPostmaster } from '../src/adapters/embedded-postgres/postmaster.ts'
import { dropTestDatabases, testDatabasePrefix } from '../tests/support/database.ts'
import { UNCOUNTED } from '../tests/support/running-process.ts'
import type { Outcome, Size } from './row.ts'

/** The row to run, and where. */
export interface RowRun {
  /** The URL of the server on which rows create their databases. */
  readonly serverUrl: string
  /** The checkout or its copy whose code is tested. */
  readonly tree: string
  /** The file in the tree that exports the rows. */
  readonly rows: string
  readonly id: string
  readonly size: Size | 'mutant'
  readonly timeoutMs: number
  /** Added to the environment of the row. */
  readonly env?: NodeJS.ProcessEnv
}

/** Runs rows in separate processes, and clears everything that a row leaves behind, however it ended. */
export interface RowRunner {
  run(row: RowRun): Promise<Outcome>
  /** Kills the running rows. None starts afterwards. */
  interrupt(): void
  /** Removes the shared folder of the rows. */
  close(): void
}

/** Creates a runner that stores everything of its rows in one new folder of `parentFolder`. */
export function createRowRunner(parentFolder = tmpdir()): RowRunner {
  const sharedFolder = mkdtempSync(join(parentFolder, 'latchkey-verify-'))
  // The user of the servers below must be able to traverse it.
  chmodSync(sharedFolder, 0o755)
  const children = new Set<ChildProcess>()
  let isInterrupted = false

  return {
    async run(row) {
      const { serverUrl } = row
      if (isInterrupted) return crashed('not begun')
      const folder = join(sharedFolder, randomBytes(4).toString('hex'))
      mkdirSync(folder)
      chmodSync(folder, 0o755)
      const env = {
        ...process.env,
        ...UNCOUNTED,
        ...row.env,
        // With it, Node's test runner would handle the exceptions that the row must report.
        NODE_TEST_CONTEXT: undefined,
        TEST_DATABASE_URL: serverUrl,
        TEST_RUN_ID: randomBytes(4).toString('hex'),
      }
      try {
        return await outcomeOf(row, folder, env)
      } finally {
        await clear(folder)
        await dropTestDatabases(serverUrl, testDatabasePrefix(env)).catch(() => {})
      }
    },
    interrupt() {
      isInterrupted = true
      for (const child of children) kill(child)
    },
    close: () => rmSync(sharedFolder, { recursive: true, force: true }),
  }

  function outcomeOf(row: RowRun, folder: string, env: NodeJS.ProcessEnv): Promise<Outcome> {
    const { tree, rows, id, size, timeoutMs } = row
    const program = join(tree, 'verification/row-process.ts')
    const running = spawn(
      process.execPath,
      ['--expose-gc', '--import', 'tsx', program, join(tree, rows), id, size, folder],
      // A separate process group, so that the programs which the row has started can be killed with it.
      { cwd: tree, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
    )
    children.add(running)
    let output = ''
    let errors = ''
    running.stdout.on('data', (text) => {
      output += text
    })
    running.stderr.on('data', (text) => {
      errors = (errors + text).slice(-2000)
    })
    const timer = setTimeout(() => kill(running), timeoutMs)
    return new Promise((resolve) => {
      running.once('exit', () => {
        clearTimeout(timer)
        kill(running)
        children.delete(running)
      })
      running.once('close', (code, signal) => {
        const last = output.trim().split('\n').at(-1) ?? ''
        if (code === 0 && last.startsWith('{')) resolve(JSON.parse(last))
        else resolve(crashed(`the process ended by ${signal ?? code}: ${errors}`))
      })
    })
  }
}

function crashed(example: string): Outcome {
  return { trials: 1, failures: 1, examples: [example], notes: [] }
}

function kill({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The whole group has exited.
  }
}

/** Kills the servers that still run in a row's folder, in sessions of their own, and removes the folder. */
async function clear(folder: string): Promise<void> {
  for (const cluster of foldersIn(folder).flatMap(foldersIn)) await stopPostmaster(cluster)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name))
}
