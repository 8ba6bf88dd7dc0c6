import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Binaries, cannotRun } from './binaries.ts'
import type { DataFolder } from './data-folder.ts'
import { isEarlySignal } from './early-signal.ts'
import { EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import { checkAccess } from './folder-access.ts'
import type { Host } from './host.ts'
import { killOrphans } from './postmaster.ts'
import { accountIdentity, SERVER_ENV } from './server-arguments.ts'
import { syncFolder } from './sync-folder.ts'

/**
 * Creates the database cluster unless it exists. Returns true when it was created. It is built in a separate folder
 * and renamed when complete, so that a killed initdb leaves nothing that looks like a cluster.
 */
export async function ensureCluster(host: Host, folder: DataFolder, binaries: Binaries): Promise<boolean> {
  await removeDrafts(folder.path)
  if (existsSync(folder.cluster)) {
    checkAccess(host, folder)
    checkVersion(folder, binaries.major)
    return false
  }
  const draft = join(folder.path, `.initdb-${randomBytes(6).toString('hex')}`)
  const passwordFile = `${draft}.password`
  try {
    mkdirSync(draft, { mode: 0o700 })
    writeFileSync(passwordFile, folder.password, { mode: 0o600, flag: 'wx' })
    if (folder.account !== undefined) {
      lchownSync(draft, folder.account.uid, folder.account.gid)
      lchownSync(passwordFile, folder.account.uid, folder.account.gid)
    }
    while (!(await initdb(host, folder, binaries, draft, passwordFile)));
    renameSync(draft, folder.cluster)
    syncFolder(folder.path)
    return true
  } finally {
    rmSync(passwordFile, { force: true })
    rmSync(draft, { recursive: true, force: true })
  }
}

function checkVersion(folder: DataFolder, major: string): void {
  const file = join(folder.cluster, 'PG_VERSION')
  const found = existsSync(file) ? readFileSync(file, 'utf8').trim() : 'an unknown version'
  if (found === major) return
  throw new EmbeddedPostgresRefused(
    `The data folder ${folder.path} was created by PostgreSQL ${found}, but this Latchkey contains PostgreSQL ${major}. ` +
      'Dump it with the older Latchkey and set DATA_DIR to a new folder, or set DATABASE_URL.',
  )
}

async function removeDrafts(path: string): Promise<void> {
  for (const name of readdirSync(path)) {
    if (!name.startsWith('.initdb-')) continue
    await killOrphans(join(path, name))
    rmSync(join(path, name), { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Returns false when a signal ended initdb before it ran. */
async function initdb(
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
