import { writeSync } from 'node:fs'
import type { Clock } from '../../lib/clock.ts'
import { sleepSync } from '../../lib/sleep-sync.ts'
import { countLine } from './line.ts'

/** PIPE_BUF of Linux: a write of up to this size into a pipe is atomic, whatever other processes write there. */
const BLOCK_BYTES = 4096
const CAPACITY_BYTES = 1024 * 1024
const FLUSH_MS = 1000
const RETRY_MS = 5
const LAST_WAIT_MS = 1000
const LINE_END = 0x0a

/** The destination of log lines. */
export interface Lines {
  /** Writes one line of ASCII with its line feed. Never throws and never waits. */
  write(line: string): void
  /** Writes the buffered lines, also while the process exits. Waits for a slow reader for at most one second. */
  close(): void
}

/**
 * Writes lines to a file descriptor in blocks of whole lines: when a block is full, and each second. While the output
 * accepts nothing, lines wait in a buffer. When the buffer is full, lines are dropped, and a line `access_log.lost`
 * reports their number.
 *
 * The writes are synchronous. An asynchronous write would wait in the thread pool behind password hashes, could split
 * another writer's line, and would be lost when the process ends. A pipe must be non-blocking; node makes standard
 * output non-blocking when `process.stdout` is first read.
 */
export function blockWriter({
  fd,
  clock,
  endsTorn = () => null,
  capacityBytes = CAPACITY_BYTES,
}: {
  readonly fd: number
  readonly clock: Clock
  /** Whether the file ends within a line, of this or another writer; null unless it is a file. Called after a failure. */
  readonly endsTorn?: () => boolean | null
  /** Must exceed a block and the longest line. */
  readonly capacityBytes?: number
}): Lines {
  const buffer = Buffer.allocUnsafe(capacityBytes)
  let begin = 0
  let end = 0
  let dropped = 0
  /** The code of the output's last write error; null after a successful write. */
  let refusal: string | null = null
  let timer: NodeJS.Timeout | null = null

  return { write, close }

  function write(line: string): void {
    if (refusal === null && end + line.length > BLOCK_BYTES) flush()
    // The report of lost lines stands where the lines are missing.
    if (append(dropped === 0 ? line : lostLine() + line)) dropped = 0
    else dropped++
    if (timer === null) wake(FLUSH_MS)
  }

  function close(): void {
    const endMs = performance.now() + LAST_WAIT_MS
    flush()
    while (refusal === 'EAGAIN' && performance.now() < endMs) {
      sleepSync(RETRY_MS)
      flush()
    }
    if (timer !== null) clearTimeout(timer)
    timer = null
  }

  function flush(): void {
    try {
      for (;;) {
        while (begin < end) {
          if (refusal !== null) repeatCutLine()
          begin += writeSync(fd, buffer, begin, blockLength())
        }
        begin = 0
        end = 0
        refusal = null
        if (dropped === 0) break
        append(lostLine())
        dropped = 0
      }
    } catch (error) {
      refusal = (error as NodeJS.ErrnoException).code ?? ''
      // A full pipe empties in a moment; another error may last.
      wake(refusal === 'EAGAIN' ? RETRY_MS : FLUSH_MS)
    }
  }

  /** In a file, another writer may have ended the line that a full disk has cut off, so it is repeated whole. */
  function repeatCutLine(): void {
    const isTorn = endsTorn()
    if (isTorn === null) return
    if (isTorn) writeSync(fd, '\n')
    begin = lineStart()
    refusal = null
  }

  function lineStart(): number {
    return begin === 0 ? 0 : buffer.lastIndexOf(LINE_END, begin - 1) + 1
  }

  /** Returns the length of the longest run of whole lines that fits a block, or of the first line if it is longer. */
  function blockLength(): number {
    if (end - begin <= BLOCK_BYTES) return end - begin
    const last = buffer.lastIndexOf(LINE_END, begin + BLOCK_BYTES - 1)
    return (last >= begin ? last : buffer.indexOf(LINE_END, begin)) + 1 - begin
  }

  function lostLine(): string {
    return countLine('warn', 'access_log.lost', dropped, clock)
  }

  /** Returns false when the buffer has no room for the line. */
  function append(line: string): boolean {
    if (end + line.length > capacityBytes && begin > 0) {
      const from = lineStart()
      buffer.copyWithin(0, from, end)
      end -= from
      begin -= from
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
