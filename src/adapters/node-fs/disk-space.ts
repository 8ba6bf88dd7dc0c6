import { statfs } from 'node:fs/promises'

/** The free space that an unprivileged account can use, and the size, in bytes; null if they cannot be read. */
export async function diskSpace(folder: string): Promise<{ freeBytes: number; sizeBytes: number } | null> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder)
    return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
  } catch {
    return null
  }
}
