import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import type { Host } from './host.ts'
import { canReach, makeReachable, type ServerAccount } from './server-account.ts'

/** The server's programs, ready to run. */
export interface Binaries {
  readonly postgres: string
  readonly initdb: string
  /** Major version of PostgreSQL, as in a cluster's PG_VERSION. */
  readonly major: string
}

/**
 * Finds the package of this platform, completes its symbolic links, and copies it to `copyRoot` where the
 * server's account cannot reach it or the links cannot be made; a copy is reported to `note`.
 */
export function prepareBinaries(
  host: Host,
  account: ServerAccount | undefined,
  copyRoot: string,
  note: (sentence: string) => void,
): Binaries {
  const packageDir = findPackage(host)
  const { version } = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')) as {
    version: string
  }
  let native = join(packageDir, 'native')
  if (!canReach(account, join(native, 'bin')) || !linksMade(native)) {
    native = copyOnce(native, join(copyRoot, `postgres-${version}`), note)
  }
  const suffix = host.platform === 'win32' ? '.exe' : ''
  return {
    postgres: join(native, 'bin', `postgres${suffix}`),
    initdb: join(native, 'bin', `initdb${suffix}`),
    major: version.split('.')[0] ?? '',
  }
}

/** What to say when the programs are there and the system cannot run them. */
export function cannotRun(
  host: Host,
  program: string,
  error: NodeJS.ErrnoException,
): EmbeddedPostgresRefused {
  const why =
    error.code === 'ENOENT' && existsSync(program)
      ? 'they need the GNU C library, which this system (musl?) does not have'
      : `${program}: ${error.message}`
  return new EmbeddedPostgresRefused(
    `The embedded PostgreSQL's programs for ${host.platform}-${host.arch} do not run here: ${why}. ` +
      'Set DATABASE_URL to a PostgreSQL server.',
  )
}

function findPackage(host: Host): string {
  const platform = host.platform === 'win32' ? 'windows' : host.platform
  const name = `@embedded-postgres/${platform}-${host.arch}`
  try {
    return dirname(dirname(host.resolvePackage(name)))
  } catch {
    throw new EmbeddedPostgresRefused(
      `There is no embedded PostgreSQL for this machine: the optional package ${name} is not installed. ` +
        'Run npm ci without --omit=optional, or set DATABASE_URL to a PostgreSQL server.',
    )
  }
}

/** npm may refuse the package's install script, which is what makes these links. */
function linksMade(native: string): boolean {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return true
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  try {
    for (const { source, target } of links)
      makeLink(join(dirname(native), source), join(dirname(native), target))
    return true
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

function makeLink(source: string, target: string): void {
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) return
  try {
    symlinkSync(relative(dirname(target), source), target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** The rename at the end makes the copy whole or absent, also when several processes copy at once. */
function copyOnce(native: string, target: string, note: (sentence: string) => void): string {
  const copy = join(target, 'native')
  if (!existsSync(target)) {
    makeReachable(dirname(target))
    const partial = `${target}.${process.pid}-${Date.now()}`
    try {
      cpSync(native, join(partial, 'native'), { recursive: true, verbatimSymlinks: true })
      linksMade(join(partial, 'native'))
      openToAll(partial)
      renameSync(partial, target)
    } catch (error) {
      if (!existsSync(target)) throw error
    } finally {
      rmSync(partial, { recursive: true, force: true })
    }
  }
  note(`The PostgreSQL programs are used from a copy in ${target}, where the server can reach them.`)
  return copy
}

/** A checkout made under a strict umask is closed to the server's account file by file. */
function openToAll(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) openToAll(path)
    else if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o100 ? 0o755 : 0o644)
  }
}
