import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const LINE_END = 0x0a

/**
 * Whether the file of a descriptor ends within a line, which a full disk has cut off; another writer of the file may have
 * begun it. Null when that cannot be read: of a pipe or a terminal, and where Linux's `/proc` is missing.
 */
export function endsTorn(fd: number): boolean | null {
  const stats = fstatSync(fd)
  if (!stats.isFile()) return null
  if (stats.size === 0) return false
  try {
    // The descriptor itself may be for writing only.
    const reader = openSync(`/proc/self/fd/${fd}`, 'r')
    try {
      const last = Buffer.alloc(1)
      readSync(reader, last, 0, 1, stats.size - 1)
      return last[0] !== LINE_END
    } finally {
      closeSync(reader)
    }
  } catch {
    return null
  }
}
