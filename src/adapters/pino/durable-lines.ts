import { closeSync, constants, fstatSync, openSync, statSync, writeSync } from 'node:fs'
import { Unavailable } from '../../domain/errors.ts'
import { OperatorError } from '../../lib/operator-error.ts'
import { sleepSync } from '../../lib/sleep-sync.ts'
import { endsTorn } from './torn-end.ts'

const RETRY_MS = 1
/** The maximum total wait per second: a slow or hanging reader must not stop the process. */
const MAX_WAITED_MS = 250
const SECOND_MS = 1000

/** A destination of lines that survive the end of the process. */
export interface DurableLines {
  /** Returns after the operating system has accepted the whole line, or throws `Unavailable`. */
  write(line: string): void
  close(): void
}

/** The file of `AUDIT_LOG` cannot be written; `message` is one line for operators. */
class AuditLogRefused extends OperatorError {
  override readonly name = 'AuditLogRefused'
}

/**
 * Appends lines to a file, which is created with mode 0600 if necessary. Several processes may write to it. A line goes to the
 * file that has the path when it is written: after a rotation, to a new one. Throws `AuditLogRefused`.
 */
export function fileLines(path: string): DurableLines {
  let { fd, lines } = openFile(path)
  let isClosed = false

  return {
    write(line) {
      if (!isClosed && isRotated(path, fd)) reopen()
      lines.write(line)
    },
    close() {
      isClosed = true
      lines.close()
    },
  }

  /** Where no file can be created, the rotated one still takes the line. */
  function reopen(): void {
    const before = lines
    try {
      ;({ fd, lines } = openFile(path))
    } catch {
      return
    }
    before.close()
  }
}

/** Whether the path leads to another file than the open one, or to none. */
function isRotated(path: string, fd: number): boolean {
  const [open, named] = [fstatSync(fd), statSync(path, { throwIfNoEntry: false })]
  return open.ino !== named?.ino || open.dev !== named.dev
}

function openFile(path: string): { readonly fd: number; readonly lines: DurableLines } {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants
  try {
    // Non-blocking: opening a pipe without a reader would block the start instead of failing.
    const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600)
    return { fd, lines: durableLines(fd, () => closeSync(fd)) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new AuditLogRefused(
      `AUDIT_LOG: ${path} cannot be written (${code}). Name a file in a folder where this account may write, or leave it unset for standard output.`,
    )
  }
}

/** The descriptors whose last line was cut off. Log and audit log may share one. */
const torn = new Set<number>()

/**
 * Writes lines to a file descriptor, each with one system call, so that lines of several processes never mix; for a pipe
 * that holds for lines of up to 4096 bytes. While a pipe is full, a line waits briefly. A line that follows one that was
 * cut off begins on a new one.
 */
export function durableLines(fd: number, close = () => {}): DurableLines {
  let isClosed = false
  let secondBeganMs = Number.NEGATIVE_INFINITY
  let waitedMs = 0

  return {
    write(line) {
      if (isClosed) throw new Unavailable()
      const bytes = Buffer.from((endsTorn(fd) ?? torn.has(fd)) ? `\n${line}` : line)
      let written = 0
      while (written < bytes.length) {
        try {
          written += writeSync(fd, bytes, written)
          if (written < bytes.length) torn.add(fd)
          else torn.delete(fd)
        } catch (error) {
          const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN'
          if (!isFull || !hasWaited()) throw new Unavailable({ cause: error })
        }
      }
    },

    close() {
      if (isClosed) return
      isClosed = true
      torn.delete(fd)
      close()
    },
  }

  /** Waits for the reader. Returns false when this second's maximum has been reached. */
  function hasWaited(): boolean {
    const beganMs = performance.now()
    if (beganMs - secondBeganMs >= SECOND_MS) {
      secondBeganMs = beganMs
      waitedMs = 0
    }
    if (waitedMs >= MAX_WAITED_MS) return false
    sleepSync(RETRY_MS)
    waitedMs += performance.now() - beganMs
    return true
  }
}
