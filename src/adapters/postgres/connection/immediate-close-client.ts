import type { Socket } from 'node:net'
import { Client, type Connection } from 'pg'

/**
 * A client that closes at once: it sends the termination message and closes its socket without waiting for the server, so
 * that a frozen server holds no sockets.
 */
export class ImmediateCloseClient extends Client {
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
