import { chmodSync, existsSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import type { Host } from './host.ts'

/** The account that runs the server and owns its files. PostgreSQL refuses to run as root. */
export interface ServerAccount {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/**
 * Returns the account for a data folder; undefined means the account of this process. For a process of root it is the
 * owner of the existing folder, else `postgres`, else `nobody`.
 */
export function serverAccount(host: Host, folders: readonly string[]): ServerAccount | undefined {
  if (host.uid !== 0) return undefined
  for (const folder of folders) {
    const owner = statSync(folder, { throwIfNoEntry: false })
    if (owner !== undefined && owner.uid !== 0) return toAccount(host, owner.uid, owner.gid)
  }
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = passwdLine(host, (fields) => fields[0] === name) ?? []
    if (Number(uid) > 0) return { name, uid: Number(uid), gid: Number(gid) }
  }
  throw new EmbeddedPostgresRefused(
    'PostgreSQL does not run as root, and there is no account "postgres" or "nobody" to run it. ' +
      'Add one, start Latchkey as another user, or set DATABASE_URL.',
  )
}

/** Returns whether the account may enter every folder of `path`. A missing folder counts as enterable. */
export function canReach(account: ServerAccount | undefined, path: string): boolean {
  if (account === undefined) return true
  let folder = path
  while (!existsSync(folder)) folder = dirname(folder)
  folder = realpathSync(folder)
  while (folder !== dirname(folder)) {
    if (!mayEnter(account, folder)) return false
    folder = dirname(folder)
  }
  return mayEnter(account, folder)
}

/** Creates the missing folders of a path so that every account may enter them, whatever the umask. */
export function makeReachable(path: string): void {
  const first = mkdirSync(path, { recursive: true })
  if (first === undefined) return
  for (let folder = path; folder.length >= first.length; folder = dirname(folder)) chmodSync(folder, 0o755)
}

function mayEnter(account: ServerAccount, folder: string): boolean {
  const { uid, gid, mode } = statSync(folder)
  if (uid === account.uid) return (mode & 0o100) !== 0
  if (gid === account.gid) return (mode & 0o010) !== 0
  return (mode & 0o001) !== 0
}

function toAccount(host: Host, uid: number, gid: number): ServerAccount {
  const name = passwdLine(host, (fields) => fields[2] === String(uid))?.[0] ?? String(uid)
  return { name, uid, gid }
}

function passwdLine(host: Host, matches: (fields: string[]) => boolean): string[] | undefined {
  return host.passwd
    .split('\n')
    .map((line) => line.split(':'))
    .find(matches)
}
