import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import type { Host } from './host.ts'

/** The name that PostgreSQL gives to the socket of port 5432. */
export const SOCKET_NAME = '.s.PGSQL.5432'

/** Where clients connect: a socket in the cluster's folder where its path is short enough, else a free port. */
export function socketFolder(host: Host, cluster: string): string | undefined {
  const path = join(cluster, SOCKET_NAME)
  return host.platform !== 'win32' && Buffer.byteLength(path) <= 103 ? cluster : undefined
}

/** A TCP port of 127.0.0.1 that nothing listens on. */
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
 * Whether something listens on the cluster's socket: it tells also of a server behind another kernel
 * namespace, whose processes this one cannot see.
 */
export function acceptsConnections(host: Host, cluster: string): Promise<boolean> {
  const folder = socketFolder(host, cluster)
  if (folder === undefined) return Promise.resolve(false)
  const socket = connect(join(folder, SOCKET_NAME))
  return new Promise((resolve) => {
    const answer = (heard: boolean) => {
      socket.destroy()
      resolve(heard)
    }
    socket.once('connect', () => answer(true))
    socket.once('error', () => answer(false))
  })
}
