import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A TCP client that collects what it receives, or reads nothing while its socket is paused. */
export interface RawClient {
  readonly socket: Socket
  readonly received: () => string
  /** Whether the server has closed or reset the connection, as far as this client has read. */
  readonly isClosed: () => boolean
}

/** Connects to a port of this machine. `allowHalfOpen` lets the client send after the server's end. */
export async function openRawClient(port: number): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let received = ''
  let isClosed = false
  const close = () => {
    isClosed = true
    socket.destroy()
  }
  socket.setEncoding('latin1').on('error', close).on('end', close).on('close', close)
  await once(socket, 'connect')
  socket.on('data', (text) => {
    received += text
  })
  return { socket, received: () => received, isClosed: () => isClosed }
}
