import { writeSync } from 'node:fs'
import type { Clock } from '../../lib/clock.ts'
import { countLine } from './line.ts'

/** PIPE_BUF of Linux: into a pipe so much goes whole or not at all, whoever else writes there. */
const BLOCK_BYTES = 4096
const CAPACITY_BYTES = 1024 * 1024
const FLUSH_MS = 1000
const RETRY_MS = 5
const LAST_WAIT_MS = 1000
const LINE_END = 0x0a

/** Where lines go. */
export interface Lines {
  /** One line of ASCII, its end included; never throws and never waits. */
  write(line: string): void
  /** Writes what is left, also while the process exits. A reader who is not there is waited for a second. */
  close(): void
}

/**
 * Lines to a file descriptor, in blocks that end where a line ends: when one is full, and each second. While the output
 * takes nothing they wait in a buffer; what finds no room there is dropped, and a line `access_log.lost` tells how many.
 *
 * It writes synchronously: no block is ever on its way in another thread, where it would wait behind password hashes,
 * part another writer's line, or be lost with the process. A pipe must be non-blocking, as node makes standard output
 * when `process.stdout` is first read.
 */
export function blockWriter({
  fd,
  clock,
  capacityBytes = CAPACITY_BYTES,
}: {
  readonly fd: number
  readonly clock: Clock
  /** More than a block, and than the longest line. */
  readonly capacityBytes?: number
}): Lines {
  const buffer = Buffer.allocUnsafe(capacityBytes)
  let begin = 0
  let end = 0
  let dropped = 0
  /** The code of the error that the output answers with, until it takes something again. */
  let refusal: string | null = null
  let timer: NodeJS.Timeout | null = null

  return { write, close }

  function write(line: string): void {
    if (refusal === null && end + line.length > BLOCK_BYTES) flush()
    // What tells of a gap stands where the gap is.
    if (kept(dropped === 0 ? line : lostLine() + line)) dropped = 0
    else dropped++
    if (timer === null) wake(FLUSH_MS)
  }

  function close(): void {
    const endMs = performance.now() + LAST_WAIT_MS
    flush()
    while (refusal === 'EAGAIN' && performance.now() < endMs) {
      sleep(RETRY_MS)
      flush()
    }
    if (timer !== null) clearTimeout(timer)
    timer = null
  }

  function flush(): void {
    try {
      for (;;) {
        while (begin < end) begin += writeSync(fd, buffer, begin, blockLength())
        begin = 0
        end = 0
        refusal = null
        if (dropped === 0) break
        kept(lostLine())
        dropped = 0
      }
    } catch (error) {
      refusal = (error as NodeJS.ErrnoException).code ?? ''
      // A full pipe empties in a moment; what else refuses may do so for ever.
      wake(refusal === 'EAGAIN' ? RETRY_MS : FLUSH_MS)
    }
  }

  /** The longest run of whole lines that makes no more than a block; a longer line goes alone. */
  function blockLength(): number {
    if (end - begin <= BLOCK_BYTES) return end - begin
    const last = buffer.lastIndexOf(LINE_END, begin + BLOCK_BYTES - 1)
    return (last >= begin ? last : buffer.indexOf(LINE_END, begin)) + 1 - begin
  }

  function lostLine(): string {
    return countLine('warn', 'access_log.lost', dropped, clock)
  }

  function kept(line: string): boolean {
    if (end + line.length > capacityBytes && begin > 0) {
      buffer.copyWithin(0, begin, end)
      end -= begin
      begin = 0
    }
    if (end + line.length > capacityBytes) return false
    end += buffer.write(line, end, 'latin1')
    return true
  }

  function wake(afterMs: number): void {
    if (timer !== null) clearTimeout(timer)
    timer = setTimeout(() => {
      timer = null
      flush()
    }, afterMs).unref()
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))

function sleep(ms: number): void {
  Atomics.wait(sleeper, 0, 0, ms)
}
