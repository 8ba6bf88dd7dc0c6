import { randomBytes } from 'node:crypto'
import { closeSync, constants, linkSync, openSync, unlinkSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import type { LockNames, NameState } from './linked-lock.ts'

/** Listening sockets under names in a folder of Linux. */
export interface FolderSockets extends LockNames {
  /** Closes the folder, once every name of this process is removed. */
  close(): void
}

/**
 * Opens a folder for its sockets. `/proc` gives each a short path, because the address of a socket has at most 107 bytes, and
 * leads to this folder even after it is moved.
 */
export function openFolderSockets(folder: string): FolderSockets {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  const pathTo = (name: string) => `/proc/self/fd/${fd}/${name}`

  return {
    find: (name) => findListener(pathTo(name)),
    async publish(name) {
      // Linked only when it listens, since a socket that does not listen is stale.
      const draft = pathTo(`.socket-${randomBytes(6).toString('hex')}`)
      const server = await listen(draft)
      try {
        linkSync(draft, pathTo(name))
      } catch (error) {
        await close(server)
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null
        throw error
      } finally {
        unlink(draft)
      }
      return {
        async release() {
          unlink(pathTo(name))
          await close(server)
        },
      }
    },
    remove: async (name) => unlink(pathTo(name)),
    close: () => closeSync(fd),
  }
}

/** Not `rmSync`: on Node 20, `require.resolve` no longer follows symbolic links once node has inspected a socket. */
function unlink(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

function findListener(path: string): Promise<NameState> {
  const socket = connect(path)
  return new Promise((resolve, reject) => {
    socket.once('connect', () => {
      socket.destroy()
      resolve('held')
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') resolve('stale')
      else if (error.code === 'ENOENT') resolve('absent')
      // Its queue is full, or it stopped listening after this connection had begun.
      else if (error.code === 'EAGAIN' || error.code === 'ECONNRESET') resolve('held')
      else reject(error)
    })
  })
}

function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // `exclusive`: workers of node's cluster would share the primary's socket. Access is a matter of the folder: root may have
    // left a socket that the folder's owner must find stale.
    server.listen({ path, exclusive: true, readableAll: true, writableAll: true }, () => {
      server.off('error', reject).on('error', () => {})
      resolve(server)
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
