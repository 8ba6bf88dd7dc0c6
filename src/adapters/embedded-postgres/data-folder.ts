import { chmodSync, existsSync, lchownSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { EmbeddedPostgresRefused, toRefusal } from './embedded-postgres-refused.ts'
import { type Host, stateFolder, thisHost } from './host.ts'
import { readOrCreatePassword } from './password-file.ts'
import { verifiedCluster } from './replaced-cluster.ts'
import { canReach, makeReachable, type ServerAccount, serverAccount } from './server-account.ts'

/** The data folder, and the account that runs its server. */
export interface DataFolder {
  readonly path: string
  /** The folder of the database cluster. */
  readonly cluster: string
  readonly log: string
  readonly account: ServerAccount | undefined
  readonly password: string
}

/**
 * Returns the path of the data folder, and whether it has a database cluster. Creates nothing. Throws
 * `EmbeddedPostgresRefused` when no service can use the folder.
 */
export function locateDataFolder(
  { dataDir, home }: { readonly dataDir: string | undefined; readonly home: string },
  host = thisHost(),
): { readonly path: string; readonly isPrepared: boolean } {
  try {
    const { path } = chosenFolder(host, dataDir, realpathSync(home))
    if (existsSync(path)) requireOwnContent(path)
    // The second is that of an upgrade that was interrupted between two renames.
    const clusters = [join(path, 'postgres'), verifiedCluster(path)]
    return { path, isPrepared: clusters.some((cluster) => existsSync(join(cluster, 'PG_VERSION'))) }
  } catch (error) {
    throw toRefusal(error, resolve(home, dataDir ?? 'data'), host)
  }
}

/** Creates the data folder (mode 0700) and its password file (0600), or reuses existing ones. */
export function prepareDataFolder(
  host: Host,
  dataDir: string | undefined,
  home: string,
  note: (sentence: string) => void,
): DataFolder {
  const chosen = chosenFolder(host, dataDir, home)
  const { account } = chosen
  let { path } = chosen
  if (chosen.isMoved) note(`The data folder is ${path}: the account "${account?.name}" cannot enter ${home}.`)
  const owned = takeFolder(host, path, account)
  path = realpathSync(path)
  const cluster = join(path, 'postgres')
  const password = readOrCreatePassword(path, cluster, owned ? undefined : account)
  return { path, cluster, log: join(path, 'postgres.log'), account, password }
}

function chosenFolder(
  host: Host,
  dataDir: string | undefined,
  home: string,
): { path: string; account: ServerAccount | undefined; isMoved: boolean } {
  const path = resolve(home, dataDir ?? 'data')
  const account = serverAccount(host, [join(path, 'postgres'), path])
  if (canReach(account, dirname(path))) return { path, account, isMoved: false }
  if (dataDir !== undefined) throw unreachable(path, account)
  const moved = join(stateFolder(host, realpathSync(home)), 'data')
  return { path: moved, account: serverAccount(host, [join(moved, 'postgres'), moved]), isMoved: true }
}

/** Creates or adopts the folder. Returns true when this process's account owns it. */
function takeFolder(host: Host, path: string, account: ServerAccount | undefined): boolean {
  makeReachable(dirname(path))
  if (!existsSync(path)) {
    try {
      mkdirSync(path, { mode: 0o700 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  const { uid, mode } = statSync(path)
  requireOwnContent(path)
  if (uid !== host.uid && host.uid !== undefined && host.uid !== 0) return false
  if ((mode & 0o777) !== 0o700) chmodSync(path, 0o700)
  if (account !== undefined && uid === 0) lchownSync(path, account.uid, account.gid)
  return uid === host.uid
}

/** Throws when the folder contains files and no database. */
function requireOwnContent(path: string): void {
  const content = readdirSync(path).filter((name) => !name.startsWith('.') && name !== 'lost+found')
  const hasCluster = existsSync(join(path, 'postgres', 'PG_VERSION'))
  if (content.length > 0 && !content.includes('password') && !hasCluster) {
    throw new EmbeddedPostgresRefused(
      `The data folder ${path} holds other files and no Latchkey data. Set DATA_DIR to a new or empty folder.`,
    )
  }
}

function unreachable(path: string, account: ServerAccount | undefined): EmbeddedPostgresRefused {
  return new EmbeddedPostgresRefused(
    `The account "${account?.name}", which runs the embedded PostgreSQL for root, cannot enter ` +
      `${dirname(path)}. Set DATA_DIR to a folder that it can reach, or DATABASE_URL to a PostgreSQL server.`,
  )
}
