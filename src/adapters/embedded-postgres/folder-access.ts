import { statSync } from 'node:fs'
import type { DataFolder } from './data-folder.ts'
import { EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import { chmodCommand, chownCommand } from './folder-commands.ts'
import type { Host } from './host.ts'

/** The permissions with which PostgreSQL refuses to start: writable by its group, or accessible to all. */
const REFUSED_MODE = 0o027

/**
 * Throws `EmbeddedPostgresRefused` with the command to run when PostgreSQL would refuse the cluster's owner or mode, as
 * after a copy by root, or with an fsGroup of Kubernetes.
 */
export function checkAccess(host: Host, { path, cluster, account }: DataFolder): void {
  const { uid, gid } = account ?? host
  if (uid === undefined) return
  const found = statSync(cluster)
  if (found.uid !== uid)
    throw new EmbeddedPostgresRefused(
      `The database in ${cluster} belongs to the account ${found.uid}, not to ${uid}, which runs it. ${chownCommand(path, uid, gid)}`,
    )
  if (found.mode & REFUSED_MODE)
    throw new EmbeddedPostgresRefused(
      `The database in ${cluster} can be changed or read by other accounts. ${chmodCommand(path)}`,
    )
}
