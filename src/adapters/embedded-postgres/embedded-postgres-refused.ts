import { statSync } from 'node:fs'
import { OperatorError } from '../../lib/operator-error.ts'
import { chownCommand } from './folder-commands.ts'
import type { Host } from './host.ts'

/** The embedded PostgreSQL cannot run here; `message` is one line that says what the operator must set. */
export class EmbeddedPostgresRefused extends OperatorError {
  override readonly name = 'EmbeddedPostgresRefused'
}

/** The server's address is in use. */
export class AddressTaken extends EmbeddedPostgresRefused {}

const REASONS: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on the device',
  EDQUOT: 'the disk quota is used up',
  ENOENT: 'no such file or folder',
  ENAMETOOLONG: 'the path is too long',
  ELOOP: 'its symbolic links form a loop',
  ENOTDIR: 'a part of the path is not a folder',
  EEXIST: 'there is a file of that name',
  EIO: 'the disk reports an error',
}

/** Converts a failed file operation to an error that names the data folder. Returns any other error unchanged. */
export function toRefusal(error: unknown, dataDir: string, { uid, gid }: Pick<Host, 'uid' | 'gid'>): unknown {
  const { code, path } = error as NodeJS.ErrnoException
  const reason = REASONS[code ?? '']
  if (reason === undefined) return error
  const where = path === undefined || path === dataDir ? '' : ` (${path})`
  return new EmbeddedPostgresRefused(
    `The data folder ${dataDir} cannot be used: ${reason}${where}. ${ownerHint(dataDir, uid, gid)}` +
      'Set DATA_DIR to a folder that this account may write, or DATABASE_URL to a PostgreSQL server.',
  )
}

/** Returns the command for an existing folder of another account; empty for any other. */
function ownerHint(dataDir: string, uid: number | undefined, gid: number | undefined): string {
  const owner = findOwner(dataDir)
  if (uid === undefined || owner === null || owner === uid) return ''
  return `It belongs to the account ${owner}. ${chownCommand(dataDir, uid, gid)}. Or: `
}

function findOwner(folder: string): number | null {
  try {
    const found = statSync(folder)
    return found.isDirectory() ? found.uid : null
  } catch {
    return null
  }
}
