import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Makes the names in a folder survive a power failure. Windows has no such call and needs none. */
export function syncFolder(path: string): void {
  if (process.platform === 'win32') return
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
