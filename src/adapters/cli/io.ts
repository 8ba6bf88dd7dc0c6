import type { Readable, Writable } from 'node:stream'

/** The three streams of a command. `isTTY` is true for a terminal, which has a number of `columns`. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly columns?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number }
}

/**
 * Writes text or bytes and resolves when the stream has taken it, so that a slow reader slows the writer down. Resolves to true,
 * or to false when the reader has closed the pipe, as `head` does. Throws for other failures, such as a full disk.
 */
export function write(stream: Writable, text: string | Uint8Array): Promise<boolean> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => {
      if (!error) resolve(true)
      else if (isReaderGone(error)) resolve(false)
      else reject(error)
    })
  })
}

function isReaderGone(error: Error): boolean {
  return 'code' in error && (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED')
}
