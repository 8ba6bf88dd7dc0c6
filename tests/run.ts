/**
 * Runs tests on a PostgreSQL server that it chooses and starts: `npm test` those of the first tier, and
 * `npm test -- tests/x.test.ts` any others.
 * `TEST_BACKEND=sqlite npm test` runs those from end to end on the services of `examples/sqlite`.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BuiltProgram, buildProgram } from './support/built-program.ts'
import { dropTestDatabases, testDatabasePrefix } from './support/database.ts'
import { onSqlite, sqliteProgram } from './support/sqlite.ts'
import { testFiles } from './support/test-files.ts'
import { openTestServer } from './support/test-server.ts'

const isLong = process.env.TEST_LONG === '1'
/** A file that takes longer fails by its name. The long tests measure for minutes. */
const FILE_LIMIT_MS = isLong ? 3_600_000 : 600_000
const root = join(import.meta.dirname, '..')

const beganMs = performance.now()
let tests: ChildProcess | undefined
let interruptions = 0
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interruptions += 1
    if (interruptions === 1) printRunningFiles()
    // The first one lets the tests and the server end in order; a second one does not wait for them.
    tests?.kill(interruptions === 1 ? signal : 'SIGKILL')
  })
}

process.exitCode = await main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`)
  return 1
})

async function main(): Promise<number> {
  const files =
    process.argv.length > 2 ? process.argv.slice(2) : testFiles(onSqlite ? 'end-to-end' : 'product')
  // node --test given nothing runs nothing and calls that a success.
  if (files.length === 0) throw new Error('There is no test to run.')

  if (onSqlite) {
    process.stdout.write('Tests use SQLite, through the program of examples/sqlite.\n')
    return run(files, { ...process.env, ...sqliteProgram.env })
  }
  const server = await openTestServer(process.env)
  process.stdout.write(`Tests use ${server.choice}.\n`)
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    TEST_DATABASE_URL: server.url,
    TEST_RUN_ID: randomBytes(4).toString('hex'),
  }
  let program: BuiltProgram | null = null
  try {
    // One file starts sooner without a build, coverage is measured on the sources, and long tests measure what is installed.
    if ((files.length > 1 || isLong) && env.NODE_V8_COVERAGE === undefined) {
      program = buildProgram()
      env.TEST_PROGRAM = program.path
    }
    return interruptions > 0 ? 1 : await run(files, env)
  } finally {
    program?.remove()
    await dropTestDatabases(server.url, testDatabasePrefix(env)).catch(() => {})
    await server.close()
  }
}

async function run(files: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  // A runner inside a test would otherwise believe that it is the inner one, and run nothing.
  delete env.NODE_TEST_CONTEXT
  // An interrupted test removes nothing. The name is short, because paths of sockets are limited.
  const folder = mkdtempSync(join(tmpdir(), 'lk-'))
  // Some tests run programs as other users.
  chmodSync(folder, 0o1777)
  try {
    tests = spawn(
      process.execPath,
      [
        '--import',
        'tsx',
        '--test',
        '--test-reporter=spec',
        `--test-timeout=${FILE_LIMIT_MS}`,
        // Two more than processors: many tests wait for processes and for the database.
        `--test-concurrency=${availableParallelism() + 2}`,
        ...files,
      ],
      { cwd: root, env: { ...env, TMPDIR: folder }, stdio: ['ignore', 'inherit', 'inherit'] },
    )
    const [code] = await once(tests, 'exit')
    process.stdout.write(`The tests took ${Math.round((performance.now() - beganMs) / 1000)} s.\n`)
    return interruptions > 0 ? 1 : (code ?? 1)
  } finally {
    // A process that a killed test has left may still write.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
  }
}

/** A file that hangs is otherwise nowhere named. */
function printRunningFiles(): void {
  const { stdout } = spawnSync('ps', ['-o', 'etimes=,args=', '--ppid', `${tests?.pid ?? 0}`], {
    encoding: 'utf8',
  })
  for (const [, seconds, file] of (stdout ?? '').matchAll(/^ *(\d+) .* (\S+\.test\.ts)$/gm))
    process.stdout.write(`Interrupted after ${seconds} s: ${file}\n`)
}
