import { createHash } from 'node:crypto'
import { closeSync, constants, openSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openFolderSockets } from './folder-sockets.ts'
import { acquire, type ProcessLock } from './linked-lock.ts'

/**
 * Acquires the lock `name` of a folder, or returns undefined when a process on this machine holds it. `secret` is a part of
 * the name where other accounts could occupy a known one.
 *
 * Node has no file locks. A listening socket in the folder on Linux, a named pipe on Windows and macOS's O_EXLOCK are better
 * than a lock file: SIGKILL leaves no lock behind, and no process id is compared that the system may have reused.
 */
export async function tryLock(
  folder: string,
  name: string,
  secret: string,
): Promise<ProcessLock | undefined> {
  if (process.platform === 'win32') return lockByName(`\\\\.\\pipe\\${fullName(folder, name, secret)}`)
  if (process.platform !== 'linux') return lockByFile(join(folder, `${name}.lock`))
  try {
    return await lockBySocket(folder, `.${name}.lock`)
  } catch (error) {
    if (!WITHOUT_SOCKETS.has((error as NodeJS.ErrnoException).code)) throw error
    // A name in Linux's abstract namespace. Another account can see it and occupy it while it is free.
    return lockByName(`\0${fullName(folder, name, secret)}`)
  }
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

/** The errors of a file system without sockets or links. */
const WITHOUT_SOCKETS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

async function lockBySocket(folder: string, name: string): Promise<ProcessLock | undefined> {
  const sockets = openFolderSockets(folder)
  let lock: ProcessLock | undefined
  try {
    lock = await acquire(sockets, name)
  } finally {
    if (lock === undefined) sockets.close()
  }
  return lock && { release: () => lock.release().finally(sockets.close) }
}

/** Uses device and inode, not the path: several paths may lead to a folder, and a copy is another folder. */
function fullName(folder: string, name: string, secret: string): string {
  const { dev, ino } = statSync(folder, { bigint: true })
  const identity = createHash('sha256').update(`${dev}:${ino}:${secret}`).digest('hex').slice(0, 40)
  return `latchkey-${name}-${identity}`
}

function lockByName(path: string): Promise<ProcessLock | undefined> {
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
