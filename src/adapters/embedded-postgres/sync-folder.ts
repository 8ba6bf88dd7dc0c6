import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Makes the directory entries of a folder durable (fsync). Windows has no such call and needs none. */
export function syncFolder(path: string): void {
  if (process.platform === 'win32') return
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
