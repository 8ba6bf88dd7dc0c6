import type { Socket } from 'node:net'
import type { AccessLog } from '../../application/ports/access-log.ts'
import { rawFailure } from './answer.ts'
import { type HttpError, RequestTimeout, STATUS_OF } from './errors.ts'
import { CLIENT_GONE, type Exchange, requestIdOf } from './exchange.ts'
import { failureOfParser } from './gate.ts'

const CLOSING_MS = 1000
const UNREAD = { traceId: null, method: null, route: null, beganMs: null, malformedToken: false }

interface Connection {
  /** Exchanges whose answers are not all on the wire, in the order of their requests. */
  readonly open: Set<Exchange>
  /** The exchange that began last, whatever became of it. */
  last: Exchange | null
  /** Nothing that comes after is read as a request: its framing cannot be trusted, or it was told to close. */
  condemned: boolean
  /** The socket goes with the last answer, whatever that answer says. */
  ends: boolean
  /** What the parser refused, waiting for the answers that were due before it. */
  failure: HttpError | null
}

/** What is told of an exchange that is over. */
export interface Ended {
  /** Null where no request could be read. */
  readonly method: string | null
  /** The route's template; null where none was matched. */
  readonly route: string | null
  /** Null where nobody was answered. */
  readonly status: number | null
  /** By the monotonic clock; null where no request could be read. */
  readonly beganMs: number | null
}

/** Keeps, for each socket, which exchanges are open and whether another may begin. */
export interface Connections {
  /** Takes the exchange in; false when its connection is already condemned and it must be left alone. */
  begin(exchange: Exchange): boolean
  /** Obeys an error of node's parser or clock (`clientError`), or a CONNECT. */
  failed(socket: Socket, error: { readonly code?: string | undefined }): void
  /** Lets the exchanges that are open end, and none follow them. */
  closeBehindOpen(): void
  /** Every exchange without its whole answer. */
  readonly open: ReadonlySet<Exchange>
  /** Calls back once none is open; at once where none is. */
  whenIdle(idle: () => void): void
}

export function makeConnections(accessLog: AccessLog, onEnded: (ended: Ended) => void): Connections {
  const connections = new WeakMap<Socket, Connection>()
  const open = new Set<Exchange>()
  let whenIdle: (() => void) | null = null

  return {
    open,

    begin(exchange) {
      const { socket } = exchange.request
      const connection = of(socket)
      // An answer that closes is the last one, and may still be on its way.
      for (const earlier of connection.open) if (earlier.closes) connection.condemned = true
      if (connection.condemned) return false
      if (!exchange.response.shouldKeepAlive) connection.condemned = true
      connection.open.add(exchange)
      connection.last = exchange
      open.add(exchange)
      exchange.response.on('close', () => end(exchange, connection))
      return true
    },

    failed(socket, { code }) {
      const connection = of(socket)
      if (connection.failure !== null) return
      // A reset, or an end in the middle of a request: there is nobody to answer.
      if (!socket.writable || code === 'ECONNRESET' || code === 'EPIPE') {
        socket.destroy()
        return
      }
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
    let connection = connections.get(socket)
    if (connection === undefined) {
      const opened: Connection = {
        open: new Set(),
        last: null,
        condemned: false,
        ends: false,
        failure: null,
      }
      // For CONNECT node takes its own away, and an error without a listener ends the process.
      socket.on('error', () => {})
      // Answers that wait for an earlier one hear nothing of it when the connection goes.
      socket.once('close', () => {
        for (const exchange of opened.open) end(exchange, opened)
      })
      connections.set(socket, opened)
      connection = opened
    }
    return connection
  }

  function end(exchange: Exchange, connection: Connection): void {
    // The end of the connection may come before that of the answer.
    if (!open.delete(exchange)) return
    if (!exchange.response.writableFinished) exchange.cancel(CLIENT_GONE)
    connection.open.delete(exchange)
    exchange.span?.end(exchange)
    onEnded(exchange)
    settle(exchange.request.socket, connection)
    if (open.size === 0) whenIdle?.()
  }

  /** Writes the parser's failure once nothing is due before it. */
  function settle(socket: Socket, connection: Connection): void {
    if (connection.open.size > 0 || !socket.writable) return
    if (connection.ends) socket.destroySoon()
    if (connection.failure === null) return
    const requestId = requestIdOf(undefined)
    socket.end(rawFailure(connection.failure, requestId))
    const status = STATUS_OF[connection.failure.reason]
    accessLog.answered({ ...UNREAD, requestId }, status)
    onEnded({ ...UNREAD, status })
    // Half-closed first, so that what the client still sends does not reset the answer away.
    const timer = setTimeout(() => socket.destroy(), CLOSING_MS)
    socket.once('close', () => clearTimeout(timer))
    socket.resume()
  }
}
