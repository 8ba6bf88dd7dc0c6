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

/** The server's programs. */
export interface Binaries {
  readonly postgres: string
  readonly initdb: string
  /** The major version of PostgreSQL, as in the file PG_VERSION of a data cluster. */
  readonly major: string
}

/**
 * Finds the package of this platform and creates its symbolic links. Copies the programs to `copyRoot` when the server's
 * account cannot reach them or the links cannot be created, and passes a sentence about that to `note`.
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

/** Returns the error for programs that exist but that the system cannot run. */
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

/** Creates the symbolic links of the package, because npm may not have run the install script that creates them. */
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

/** The final rename is atomic, so that a partial copy is never used, even when several processes copy at once. */
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

/** In a checkout made under a strict umask, the server's account cannot read the single files. */
function openToAll(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) openToAll(path)
    else if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o100 ? 0o755 : 0o644)
  }
}
