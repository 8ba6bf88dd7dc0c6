import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { Unavailable } from '../../domain/errors.ts'

const RETRY_MS = 1
/** What lines may wait in all within a second: a reader that hangs, or is too slow, must not stop the process. */
const MOST_WAITED_MS = 250
const SECOND_MS = 1000

/** Where lines go that last. */
export interface DurableLines {
  /** Returns once the operating system has the whole line, or throws `Unavailable`. */
  write(line: string): void
  close(): void
}

/** `AUDIT_LOG` names what cannot be written; `message` is one line for operators. */
class AuditLogRefused extends Error {
  override readonly name = 'AuditLogRefused'
  /** The message is written for operators and is shown as it is. */
  readonly forOperators = true
}

/**
 * Lines at the end of a file, which is made for this account alone where there is none. Processes may share it. Throws
 * `AuditLogRefused`.
 */
export function fileLines(path: string): DurableLines {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants
  try {
    // Not blocking: a pipe that nobody reads would stop the start instead of refusing it.
    const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600)
    return durableLines(fd, () => closeSync(fd))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new AuditLogRefused(
      `AUDIT_LOG: ${path} cannot be written (${code}). Name a file in a folder where this account may write, or leave it unset for standard output.`,
    )
  }
}

/**
 * Lines to a file descriptor, one call of the system each, so that those of several processes never mix; into a pipe that
 * holds for lines of up to 4096 bytes. While a pipe is full a line waits for a moment.
 */
export function durableLines(fd: number, close = () => {}): DurableLines {
  let isClosed = false
  let isTorn = false
  let secondBeganMs = Number.NEGATIVE_INFINITY
  let waitedMs = 0

  return {
    write(line) {
      if (isClosed) throw new Unavailable()
      // What a full disk cut off must not become the beginning of this line.
      const bytes = Buffer.from(isTorn ? `\n${line}` : line)
      let written = 0
      while (written < bytes.length) {
        try {
          written += writeSync(fd, bytes, written)
          isTorn = written < bytes.length
        } catch (error) {
          const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN'
          if (!isFull || !hasWaited()) throw new Unavailable({ cause: error })
        }
      }
    },

    close() {
      if (isClosed) return
      isClosed = true
      close()
    },
  }

  /** Waits for the reader; false when that has been done enough. */
  function hasWaited(): boolean {
    const beganMs = performance.now()
    if (beganMs - secondBeganMs >= SECOND_MS) {
      secondBeganMs = beganMs
      waitedMs = 0
    }
    if (waitedMs >= MOST_WAITED_MS) return false
    sleep(RETRY_MS)
    waitedMs += performance.now() - beganMs
    return true
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))

function sleep(ms: number): void {
  Atomics.wait(sleeper, 0, 0, ms)
}
