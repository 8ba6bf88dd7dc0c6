import { open } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import { Refusal } from '../refusal.ts'

/** The bytes of a file, and how many of them have been read. */
export interface ImportInput {
  readonly chunks: AsyncIterable<Uint8Array>
  /** Null when the size is not known in advance, as for a pipe. */
  readonly totalBytes: number | null
  readBytes(): number
  close(): void
}

/** Opens a file, or standard input for `-`. Reading throws after the signal aborts. Throws `Refusal`. */
export async function openInput(file: string, stdin: Readable, signal: AbortSignal): Promise<ImportInput> {
  if (file === '-') return counted(addAbortSignal(signal, stdin), null)
  try {
    const handle = await open(file)
    const about = await handle.stat()
    if (about.isDirectory()) {
      await handle.close()
      throw Object.assign(new Error(), { code: 'EISDIR' })
    }
    return counted(handle.createReadStream({ signal }), about.isFile() ? about.size : null)
  } catch (error) {
    throw new Refusal(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}

function counted(stream: Readable, totalBytes: number | null): ImportInput {
  let readBytes = 0
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream) {
      readBytes += chunk.length
      yield chunk
    }
  }
  return { chunks: chunks(), totalBytes, readBytes: () => readBytes, close: () => void stream.destroy() }
}
