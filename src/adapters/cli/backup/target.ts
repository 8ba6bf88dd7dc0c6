import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Io, write } from '../io.ts'
import { printable } from '../printable.ts'
import { Refusal } from '../refusal.ts'

/** The destination of a backup. */
export interface Target {
  write(bytes: Uint8Array): Promise<void>
  /** Makes the file durable, and gives it its name. */
  complete(): Promise<void>
  bytes(): number
  /** Removes what is not complete. */
  close(): Promise<void>
}

/**
 * Creates the target for a file, or for standard output when it is `-`. A file gets the mode 0600, and its name only when it is
 * complete. Throws `Refusal` when it exists or cannot be created.
 */
export async function createTarget(file: string, io: Io): Promise<Target> {
  let bytes = 0
  if (file === '-')
    return {
      async write(chunk) {
        bytes += chunk.length
        if (!(await write(io.stdout, chunk)))
          throw new Refusal('The reader of the backup has closed the pipe.')
      },
      complete: async () => {},
      bytes: () => bytes,
      close: async () => {},
    }
  if (existsSync(file)) throw new Refusal(`${printable(file)} exists. Give the name of a new file.`)
  const partial = `${file}.${randomBytes(4).toString('hex')}.partial`
  const handle = await explained(() => open(partial, 'wx', 0o600))
  return {
    write: (chunk) =>
      explained(async () => {
        bytes += chunk.length
        await handle.writeFile(chunk)
      }),
    complete: () =>
      explained(async () => {
        await handle.sync()
        await rename(partial, file)
        await syncFolder(dirname(file))
      }),
    bytes: () => bytes,
    async close() {
      await handle.close().catch(() => {})
      await rm(partial, { force: true })
    },
  }

  async function explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw new Refusal(`${printable(file)} cannot be written (${(error as NodeJS.ErrnoException).code}).`)
    }
  }
}

/** Makes the name of the file durable. Windows has no such call and needs none; a folder may be only writable. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path, 'r').catch(() => null)
  if (folder === null) return
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
