import { createHash } from 'node:crypto'
import { closeSync, constants, openSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A lock that this process holds. The kernel releases it when the process ends, however it ends. */
export interface ProcessLock {
  release(): Promise<void>
}

/**
 * Acquires the lock `name` of a folder, or returns undefined when a process on this machine holds it. `secret` prevents
 * other accounts from guessing the name and occupying it.
 *
 * Node has no file locks. A listening socket in Linux's abstract namespace, a named pipe on Windows and macOS's O_EXLOCK
 * are better than a lock file: SIGKILL leaves none behind, and no process id is compared that the system may have reused.
 */
export async function tryLock(
  folder: string,
  name: string,
  secret: string,
): Promise<ProcessLock | undefined> {
  if (process.platform === 'linux' || process.platform === 'win32') {
    const prefix = process.platform === 'linux' ? '\0' : '\\\\.\\pipe\\'
    return lockBySocket(`${prefix}latchkey-${name}-${identity(folder, secret)}`)
  }
  return lockByFile(join(folder, `${name}.lock`))
}

/** Waits for the lock; returns undefined after `timeoutMs`. Throws when `signal` is aborted. */
export async function waitForLock(
  folder: string,
  name: string,
  secret: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<ProcessLock | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const lock = await tryLock(folder, name, secret)
    if (lock !== undefined || performance.now() >= deadline) return lock
    await sleep(20, undefined, signal === undefined ? {} : { signal })
  }
}

/** Uses device and inode, not the path: several paths may lead to a folder, and a copy is another folder. */
function identity(folder: string, secret: string): string {
  const { dev, ino } = statSync(folder, { bigint: true })
  return createHash('sha256').update(`${dev}:${ino}:${secret}`).digest('hex').slice(0, 40)
}

function lockBySocket(path: string): Promise<ProcessLock | undefined> {
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(undefined)
      else reject(error)
    })
    // `exclusive`: workers of node's cluster would share the primary's socket.
    server.listen({ path, exclusive: true }, () => {
      server.on('error', () => {})
      resolve({ release: () => new Promise((released) => server.close(() => released())) })
    })
  })
}

const O_EXLOCK = 0x20

function lockByFile(path: string): ProcessLock | undefined {
  try {
    const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | O_EXLOCK, 0o600)
    return { release: async () => closeSync(fd) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined
    throw error
  }
}
