import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { printable } from '../printable.ts'
import { Refusal } from '../refusal.ts'

/** A file that can be read several times. */
export interface Source {
  /** Reads the file from its start. */
  read(): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/** Opens a file. It stays the same file when its name is given to another one. Throws `Refusal`. */
export async function readableFile(file: string): Promise<Source> {
  const fail = (code: string | undefined) => new Refusal(`${printable(file)} cannot be read (${code}).`)
  // A named pipe without a writer would block.
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)
  const handle = await open(file, flags).catch((error: NodeJS.ErrnoException) => {
    throw fail(error.code)
  })
  const about = await handle.stat()
  if (!about.isFile()) {
    await handle.close()
    throw new Refusal(
      `${printable(file)} is not a file. The backup is read twice, so it cannot come from a pipe.`,
    )
  }
  return {
    async *read() {
      try {
        yield* handle.createReadStream({ start: 0, autoClose: false, highWaterMark: 262_144 })
      } catch (error) {
        const { code, syscall } = error as NodeJS.ErrnoException
        throw syscall === 'read' ? fail(code) : error
      }
    },
    close: () => handle.close(),
  }
}
