import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from '../../lib/operator-error.ts'

/** Enough for about 3,000 events. */
const RESERVE_BYTES = 1024 * 1024
const RETRY_MS = 10_000
/** Less is what a released reserve has left, and stays for the lines that need it. */
const MIN_FREE_BYTES = 2 * RESERVE_BYTES

/** The disk is full, and what is left of the reserve is for other lines; `message` is one line for operators. */
class DiskFull extends OperatorError {
  override readonly name = 'DiskFull'
  readonly code = 'ENOSPC'
  constructor(path: string) {
    super(`The disk of ${path} is full. Free space on it.`)
  }
}

/** Space on the disk of a file, for lines that must not fail when the disk is full. */
export interface DiskReserve {
  /** Throws `DiskFull` while the reserve is released. Creates it again if there is space, at most every ten seconds. */
  check(): void
  /** Releases the reserve if the error says that the disk is full. Returns whether a write should be repeated. */
  release(error: unknown): boolean
}

/**
 * Creates the file `<path>.reserve` of 1 MiB, which all processes that write to `path` share. Where this process may not
 * create files, there is no reserve.
 */
export function diskReserve(path: string): DiskReserve {
  const reserve = `${path}.reserve`
  let isFull = false
  let triedMs = Number.NEGATIVE_INFINITY
  create()

  return {
    check() {
      if (existsSync(reserve)) return
      if (performance.now() - triedMs >= RETRY_MS) create()
      if (isFull) throw new DiskFull(path)
    },

    release(error) {
      if (!isDiskFull((error as Error).cause)) return false
      triedMs = performance.now()
      isFull = true
      try {
        rmSync(reserve, { force: true })
        return true
      } catch {
        // It belongs to another account, such as that of a command.
        return false
      }
    },
  }

  function create(): void {
    triedMs = performance.now()
    if (existsSync(reserve)) return
    try {
      const { bavail, bsize } = statfsSync(dirname(path))
      isFull = bavail * bsize < MIN_FREE_BYTES
      // Random bytes: a file system may compress others away.
      if (!isFull) writeFileSync(reserve, randomBytes(RESERVE_BYTES), { flag: 'wx', mode: 0o600 })
    } catch (error) {
      isFull = isDiskFull(error)
      if (isFull) rmSync(reserve, { force: true })
    }
  }
}

function isDiskFull(error: unknown): boolean {
  const { code = '' } = (error ?? {}) as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}
