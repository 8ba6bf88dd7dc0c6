import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

/** A small disk, mounted in a folder. */
export interface SmallDisk {
  readonly path: string
  /** Fills the disk to its last byte with this file. */
  fill(name: string): void
  close(): void
}

/** Mounts a disk of this many megabytes below the folder. Returns the reason if this account cannot. */
export function openSmallDisk(folder: string, megabytes: number): SmallDisk | string {
  const path = join(folder, 'disk')
  try {
    mkdirSync(path)
    const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0777`, 'tmpfs', path]
    execFileSync('mount', options, { stdio: 'pipe' })
  } catch (error) {
    return `this account cannot mount a small disk: ${(error as Error).message.split('\n')[0]}`
  }
  return {
    path,
    fill(name) {
      for (const piece of [Buffer.alloc(65_536), Buffer.alloc(1)]) {
        try {
          for (;;) appendFileSync(join(path, name), piece)
        } catch (error) {
          assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
        }
      }
    },
    close: () => void spawnSync('umount', [path]),
  }
}
