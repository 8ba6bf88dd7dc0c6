import type { Socket } from 'node:net'
import type { AccessLog } from '../../application/ports/access-log.ts'
import { type HttpError, RequestTimeout } from './errors.ts'
import { CLIENT_GONE, type Ended, type Exchange } from './exchange.ts'
import { failureOfParser } from './gate.ts'
import { type Pipeline, PipelineScheduler } from './pipelining.ts'
import { refuse } from './refuse.ts'

interface Connection extends Pipeline {
  readonly open: Set<Exchange>
  last: Exchange | null
  condemned: boolean
  /** The socket goes with the last answer, whatever that answer says. */
  ends: boolean
  /** What the parser refused, waiting for the answers that were due before it. */
  failure: HttpError | null
}

/** Keeps, for each socket, which exchanges are open and whether another may begin. */
export interface Connections {
  /** Registers a new connection. */
  add(socket: Socket): void
  /** Dispatches the exchange in its turn, or never when its connection is already condemned. */
  begin(exchange: Exchange): void
  /** Obeys an error of node's parser or clock (`clientError`), or a CONNECT. */
  failed(socket: Socket, error: { readonly code?: string | undefined }): void
  /** Lets the exchanges that are open end, and none follow them. */
  closeBehindOpen(): void
  /** Every exchange without its whole response, those that wait for their turn included. */
  readonly open: ReadonlySet<Exchange>
  /** Calls back once none is open; at once where none is. */
  whenIdle(idle: () => void): void
}

export function makeConnections(
  accessLog: AccessLog,
  onEnded: (ended: Ended) => void,
  dispatch: (exchange: Exchange) => void,
): Connections {
  const connections = new WeakMap<Socket, Connection>()
  const open = new Set<Exchange>()
  const pipelines = new PipelineScheduler(dispatch, (pipeline) => condemn(pipeline as Connection))
  let whenIdle: (() => void) | null = null

  return {
    open,

    add(socket) {
      const connection: Connection = {
        socket,
        open: new Set(),
        waiting: [],
        isScheduled: false,
        last: null,
        condemned: false,
        ends: false,
        failure: null,
      }
      // For CONNECT node takes its own away, and an error without a listener ends the process.
      socket.on('error', () => {})
      // Responses that wait for an earlier one hear nothing of it when the connection goes.
      socket.once('close', () => {
        connection.waiting = []
        for (const exchange of connection.open) end(exchange, connection)
      })
      connections.set(socket, connection)
      pipelines.add(connection)
    },

    begin(exchange) {
      const { socket } = exchange.request
      const connection = of(socket)
      if (connection.condemned) {
        // Whatever else arrives stays unread: node would keep a request of it in memory until the connection ends.
        pipelines.takeOver(connection)
        return
      }
      if (!exchange.response.shouldKeepAlive) connection.condemned = true
      connection.open.add(exchange)
      connection.last = exchange
      open.add(exchange)
      exchange.response.on('close', () => end(exchange, connection))
      if (connection.open.size === 1) dispatch(exchange)
      else pipelines.enqueue(connection, exchange)
    },

    failed(socket, { code }) {
      const connection = of(socket)
      if (connection.failure !== null) return
      // A reset, or an end in the middle of a request: there is nobody to answer.
      if (!socket.writable || code === 'ECONNRESET' || code === 'EPIPE') {
        socket.destroy()
        return
      }
      // Its bytes have arrived and wait for their turn.
      if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && connection.isScheduled && socket.readableLength > 0) return
      connection.condemned = true
      const failure = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? new RequestTimeout() : failureOfParser(code)
      const { last } = connection
      if (last !== null && !last.request.complete) {
        // The error lies in the body of the last request: its own answer tells of it, unless it has one.
        last.closes = true
        connection.ends = true
        if (connection.open.has(last)) last.failBody(failure)
        else settle(socket, connection)
        return
      }
      connection.failure = failure
      settle(socket, connection)
    },

    closeBehindOpen() {
      // The one that closes takes what is due behind it with it: only the last of each connection may.
      const lasts = new Map([...open].map((exchange) => [exchange.request.socket, exchange]))
      for (const exchange of lasts.values()) exchange.closes = true
    },

    whenIdle(idle) {
      whenIdle = idle
      if (open.size === 0) idle()
    },
  }

  function of(socket: Socket): Connection {
    return connections.get(socket) as Connection
  }

  function end(exchange: Exchange, connection: Connection): void {
    // The end of the connection may come before that of the answer.
    if (!open.delete(exchange)) return
    if (!exchange.response.writableFinished) exchange.cancel(CLIENT_GONE)
    connection.open.delete(exchange)
    exchange.span?.end(exchange)
    onEnded(exchange)
    if (exchange.closes) condemn(connection)
    if (connection.isScheduled) pipelines.schedule(connection)
    settle(exchange.request.socket, connection)
    if (open.size === 0) whenIdle?.()
  }

  /** Forgets the requests that wait behind a response that closes the connection. */
  function condemn(connection: Connection): void {
    connection.condemned = true
    for (const exchange of connection.waiting) {
      open.delete(exchange)
      connection.open.delete(exchange)
    }
    connection.waiting = []
  }

  /** Writes the parser's failure once nothing is due before it. */
  function settle(socket: Socket, connection: Connection): void {
    if (connection.open.size > 0 || !socket.writable) return
    if (connection.ends) socket.destroySoon()
    if (connection.failure === null) return
    refuse(socket, connection.failure, accessLog, onEnded)
  }
}
