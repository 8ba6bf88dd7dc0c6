import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { sleepSync } from '../../lib/sleep-sync.ts'

const LINE_END = 0x0a
const LOOK_AGAIN_MS = 2

/**
 * Whether the file of a descriptor ends within a line, which a full disk has cut off; another writer of the file may have
 * begun it. Null when that cannot be read: of a pipe or a terminal, and where Linux's `/proc` is missing.
 */
export function endsTorn(fd: number): boolean | null {
  // While another process writes a line, the file grows page by page. A torn end stays as it is.
  for (let lastSize = -1; ; sleepSync(LOOK_AGAIN_MS)) {
    const stats = fstatSync(fd)
    if (!stats.isFile()) return null
    const { size } = stats
    if (size === 0) return false
    const lastByte = readByte(fd, size - 1)
    if (lastByte === null) return null
    if (lastByte === LINE_END) return false
    if (size === lastSize) return true
    lastSize = size
  }
}

/** Returns the byte at a position of a descriptor's file, or null when it cannot be read. */
function readByte(fd: number, position: number): number | null {
  try {
    // The descriptor itself may be for writing only.
    const reader = openSync(`/proc/self/fd/${fd}`, 'r')
    try {
      const byte = Buffer.alloc(1)
      return readSync(reader, byte, 0, 1, position) === 1 ? (byte[0] as number) : null
    } finally {
      closeSync(reader)
    }
  } catch {
    return null
  }
}
