import type { Socket } from 'node:net'
import type { Exchange } from './exchange.ts'

/** Tracks the open exchanges of each socket, and whether the socket may begin another. */
export interface ConnectionTracker {
  /** Registers a new connection, or refuses it with 503 at the limit. */
  add(socket: Socket): void
  /** Dispatches the exchange after those before it. Ignores it when its connection is already condemned. */
  begin(exchange: Exchange): void
  /** Handles an error of node's parser or timeout (`clientError`), or a CONNECT request. */
  failed(socket: Socket, error: { readonly code?: string | undefined }): void
  /** The number of exchanges whose response is not completely sent, including the queued ones. */
  readonly openCount: number
  /** Calls back when no exchange is open: immediately when there is none now. */
  whenIdle(idle: () => void): void
}
