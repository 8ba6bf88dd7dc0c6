import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import type { Host } from './host.ts'

/** PostgreSQL's name for the socket of port 5432. */
export const SOCKET_NAME = '.s.PGSQL.5432'

/** Returns the folder of the server's socket; undefined when its path is too long, and a TCP port must be used. */
export function socketFolder(host: Host, cluster: string): string | undefined {
  const path = join(cluster, SOCKET_NAME)
  return host.platform !== 'win32' && Buffer.byteLength(path) <= 103 ? cluster : undefined
}

/** Returns a TCP port of 127.0.0.1 on which nothing listens. */
export function freePort(): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: '127.0.0.1', port: 0, exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

/**
 * Returns whether a server listens on the cluster's socket. It also detects a server in another kernel namespace, such as
 * a container, whose processes are not visible here.
 */
export function acceptsConnections(host: Host, cluster: string): Promise<boolean> {
  const folder = socketFolder(host, cluster)
  if (folder === undefined) return Promise.resolve(false)
  const socket = connect(join(folder, SOCKET_NAME))
  return new Promise((resolve) => {
    const finish = (isListening: boolean) => {
      socket.destroy()
      resolve(isListening)
    }
    socket.once('connect', () => finish(true))
    socket.once('error', () => finish(false))
  })
}
