import type { Socket } from 'node:net'
import { Client, type ClientConfig, type Connection } from 'pg'
import { driverUrl } from './driver-url.ts'
import { currentUrl } from './rotated-urls.ts'

/**
 * A client that closes at once: it sends the termination message and closes its socket without waiting for the server, so
 * that a frozen server holds no sockets. It connects with the current password of its URL.
 */
export class ImmediateCloseClient extends Client {
  constructor({ connectionString = '', ...config }: ClientConfig = {}) {
    super({ ...config, connectionString: driverUrl(currentUrl(connectionString)) })
  }

  override end(): Promise<void>
  override end(callback: (error: Error) => void): void
  override end(callback?: (error: Error) => void): Promise<void> | void {
    const ended = callback === undefined ? super.end() : super.end(callback)
    getSocket(this).destroySoon()
    return ended
  }
}

function getSocket(client: Client): Socket {
  // The driver documents the connection, but its types omit it.
  return (client as unknown as { connection: Connection }).connection.stream as Socket
}
