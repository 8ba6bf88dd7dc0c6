import type { Socket } from 'node:net'
import type { Exchange } from '../server/exchange.ts'

/** The protocol in the header `Upgrade`. */
export const VERIFIER_PROTOCOL = 'latchkey-verifier/1'

/** The result of a handler that takes over the connection of its request (RFC 9110, section 7.8). */
export class ProtocolUpgrade {
  readonly protocol: string
  readonly start: (socket: Socket) => void

  /** `start` is called with the socket, before its next bytes are read and after the head of the response is written. */
  constructor(protocol: string, start: (socket: Socket) => void) {
    this.protocol = protocol
    this.start = start
  }
}

/** Events that node's HTTP server and the scheduler of pipelined requests handle on a socket. */
const HTTP_EVENTS = ['data', 'end', 'drain', 'timeout', 'readable', 'resume', 'pause']

/**
 * Sends 101 and hands over the socket. Node has parsed the request as an ordinary one, because an `upgrade` listener would
 * receive those for other protocols too; so its parser is detached here. A listener for `data` detaches it from the handle.
 */
export function sendUpgrade(exchange: Exchange, { protocol, start }: ProtocolUpgrade): void {
  const { socket } = exchange.request
  exchange.responded = true
  exchange.detach()
  socket.on('data', ignore)
  for (const event of HTTP_EVENTS) socket.removeAllListeners(event)
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nX-Request-Id: ${exchange.requestId}\r\n\r\n`,
  )
  start(socket)
}

function ignore(): void {}
