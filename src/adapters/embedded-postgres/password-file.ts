import { randomBytes } from 'node:crypto'
import { existsSync, lchownSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import type { ServerAccount } from './server-account.ts'
import { syncFolder } from './sync-folder.ts'

/** 32 bytes in base64url. */
const PASSWORD = /^[\w-]{43}$/

/**
 * Returns the password in the folder's file, which it creates unless there is one. `link` is atomic: only one process
 * creates the file, and no process reads it half-written. Throws `EmbeddedPostgresRefused` when the file is another one.
 */
export function readOrCreatePassword(
  path: string,
  cluster: string,
  owner: ServerAccount | undefined,
): string {
  const file = join(path, 'password')
  // Checked in this order, because another process may be creating both, the password first.
  const hasCluster = existsSync(cluster)
  if (!existsSync(file)) {
    if (hasCluster) {
      throw new EmbeddedPostgresRefused(
        `The password file ${file} is missing, and the database beside it cannot be opened without it. ` +
          'Restore it, or set DATA_DIR to a new folder.',
      )
    }
    const draft = join(path, `.password-${randomBytes(6).toString('hex')}`)
    try {
      writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, {
        mode: 0o600,
        flag: 'wx',
        flush: true,
      })
      if (owner !== undefined) lchownSync(draft, owner.uid, owner.gid)
      linkSync(draft, file)
      syncFolder(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      rmSync(draft, { force: true })
    }
  }
  return readPassword(file)
}

function readPassword(file: string): string {
  const text = statSync(file).isFile() ? readFileSync(file, 'utf8').trim() : ''
  if (PASSWORD.test(text)) return text
  throw new EmbeddedPostgresRefused(
    `The password file ${file} does not hold a password of Latchkey. Restore it, or set DATA_DIR to a new folder.`,
  )
}
