import { type ChildProcess, spawn } from 'node:child_process'
import { type Binaries, cannotRun } from './binaries.ts'
import type { DataFolder } from './data-folder.ts'
import { isEarlySignal } from './early-signal.ts'
import { EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import type { Host } from './host.ts'
import { accountIdentity, SERVER_ENV } from './server-arguments.ts'

/** Creates a cluster in the folder `draft`. Returns false when a signal ended initdb before it ran. */
export async function initdb(
  host: Host,
  folder: DataFolder,
  binaries: Binaries,
  draft: string,
  passwordFile: string,
): Promise<boolean> {
  const child = spawn(
    binaries.initdb,
    [
      ...['-D', draft, '--username=latchkey', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'],
      ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      '--no-instructions',
    ],
    // The working folder marks the process as belonging to this draft, for a later cleanup.
    // Detached, so that Ctrl-C in the terminal of the service does not interrupt it.
    {
      cwd: draft,
      env: SERVER_ENV,
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
      ...accountIdentity(folder),
    },
  )
  const { code, signal, output } = await outcome(host, binaries.initdb, child)
  if (code === 0) return true
  if (isEarlySignal(signal)) return false
  const cause =
    output.split('\n').find((line) => /error:|FATAL:|PANIC:/.test(line)) ?? `exit code ${code ?? signal}`
  throw new EmbeddedPostgresRefused(
    `The data folder ${folder.path} could not be prepared: ${cause.replace(/^.*(error|FATAL|PANIC):\s*/, '')}. ` +
      'Set DATA_DIR to another folder, or DATABASE_URL to a PostgreSQL server.',
  )
}

function outcome(
  host: Host,
  program: string,
  child: ChildProcess,
): Promise<{ code: number | null; signal: NodeJS.Signals | null; output: string }> {
  let output = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(cannotRun(host, program, error)))
    child.once('close', (code, signal) => resolve({ code, signal, output }))
  })
}
