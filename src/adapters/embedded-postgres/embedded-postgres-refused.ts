import { OperatorError } from '../../lib/operator-error.ts'
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
export function toRefusal(error: unknown, dataDir: string): unknown {
  const { code, path } = error as NodeJS.ErrnoException
  const reason = REASONS[code ?? '']
  if (reason === undefined) return error
  const where = path === undefined || path === dataDir ? '' : ` (${path})`
  return new EmbeddedPostgresRefused(
    `The data folder ${dataDir} cannot be used: ${reason}${where}. ` +
      'Set DATA_DIR to a folder that this account may write, or DATABASE_URL to a PostgreSQL server.',
  )
}
