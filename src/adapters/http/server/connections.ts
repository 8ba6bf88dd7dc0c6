import type { Socket } from 'node:net'
import type { AccessLog } from '../../../application/ports/access-log.ts'
import type { EndedRequest } from '../../../application/ports/request-observers.ts'
import { type LatchkeyError, Unavailable } from '../../../domain/errors.ts'
import { RequestTimeout } from '../errors.ts'
import { CLIENT_GONE } from './client-gone.ts'
import { type Connection, createConnection, removeItem } from './connection.ts'
import type { ConnectionTable } from './connection-table.ts'
import type { ConnectionTracker } from './connection-tracker.ts'
import type { Exchange } from './exchange.ts'
import { PipelineScheduler } from './pipelining.ts'
import { noteHalfClose } from './progress.ts'
import { refuseConnection } from './refuse.ts'
import { parserFailure } from './request-checks.ts'

export function trackConnections(
  connections: ConnectionTable,
  accessLog: AccessLog,
  onEnded: (ended: EndedRequest) => void,
  dispatch: (exchange: Exchange) => void,
): ConnectionTracker {
  // A counter and arrays instead of a Set: under many short exchanges, a Set keeps ended ones alive until a full garbage
  // collection, because its outgrown tables refer to the newer ones.
  let openCount = 0
  const pipelines = new PipelineScheduler(dispatch, (pipeline) => condemn(pipeline as Connection))
  let whenIdle: (() => void) | null = null

  return {
    get openCount() {
      return openCount
    },

    add(socket) {
      const connection = createConnection(socket)
      // Node remembers the address from the first read on. After a reset it can no longer be read.
      const hasAddress = socket.remoteAddress !== undefined
      // For CONNECT, node removes its own listener. An error without a listener ends the process.
      socket.on('error', () => {})
      // Node emits no `close` on queued responses when the connection closes.
      socket.once('close', () => {
        connection.waiting = []
        for (const exchange of [...connection.open]) end(exchange, connection)
      })
      socket.once('end', () => noteHalfClose(connection.progress))
      const isAdmitted = connections.add(connection)
      pipelines.add(connection)
      if (!hasAddress) socket.destroy()
      else if (!isAdmitted) refuse(connection, new Unavailable())
    },

    begin(exchange) {
      const { socket } = exchange.request
      const connection = connections.get(socket)
      if (connection.condemned) {
        // Leave later bytes unread: node would keep each request in memory until the connection ends.
        pipelines.takeOver(connection)
        return
      }
      if (exchange.closes || !exchange.response.shouldKeepAlive) connection.condemned = true
      connection.last = exchange
      // Node assigns the socket only after the response to an earlier request.
      const isNext = connection.open.length === 0 && exchange.response.socket !== null
      openCount += 1
      if (isNext) dispatch(exchange)
      if (exchange.isSent) {
        // The usual case, which needs no list and no event.
        connections.markIdle(connection)
        report(exchange)
        return
      }
      if (exchange.isDetached) report(exchange)
      else exchange.onDetached = () => report(exchange)
      if (connection.open.length === 0) connections.markBusy(connection)
      connection.open.push(exchange)
      exchange.response.on('close', () => end(exchange, connection))
      if (!isNext) pipelines.enqueue(connection, exchange)
    },

    failed(socket, { code }) {
      const connection = connections.get(socket)
      if (connection.failure !== null) return
      // A reset, or an end in the middle of a request: no client is left to respond to.
      if (!socket.writable || code === 'ECONNRESET' || code === 'EPIPE') {
        socket.destroy()
        return
      }
      // The bytes have arrived; the scheduler has not parsed them yet.
      if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && connection.isScheduled && socket.readableLength > 0) return
      connection.condemned = true
      const failure = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? new RequestTimeout() : parserFailure(code)
      const { last } = connection
      if (last !== null && !last.request.complete) {
        // The error is in the body of the last request: its own response reports it, unless it is already sent.
        last.closes = true
        connection.ends = true
        if (connection.open.includes(last)) last.failBody(failure)
        else settle(socket, connection)
        return
      }
      refuse(connection, failure)
    },

    whenIdle(idle) {
      whenIdle = idle
      if (openCount === 0) idle()
    },
  }

  function end(exchange: Exchange, connection: Connection): void {
    // The connection may have ended the exchange before its response closed.
    if (!removeItem(connection.open, exchange)) return
    if (connection.open.length === 0) connections.markIdle(connection)
    if (!exchange.response.writableFinished) exchange.cancel(CLIENT_GONE)
    if (!exchange.isDetached) report(exchange)
    if (exchange.closes) condemn(connection)
    if (connection.isScheduled) pipelines.schedule(connection)
    settle(exchange.request.socket, connection)
  }

  function report(exchange: Exchange): void {
    exchange.span?.end(exchange)
    onEnded(exchange)
    openCount -= 1
    if (openCount === 0) whenIdle?.()
  }

  /** Drops the requests queued behind a response that closes the connection. */
  function condemn(connection: Connection): void {
    connection.condemned = true
    for (const exchange of connection.waiting) if (removeItem(connection.open, exchange)) openCount -= 1
    connection.waiting = []
  }

  /** Sends the failure after the open responses, and nothing after it. */
  function refuse(connection: Connection, failure: LatchkeyError): void {
    connection.condemned = true
    connection.failure = failure
    settle(connection.socket, connection)
  }

  /** Sends the connection's failure when no earlier response is open. */
  function settle(socket: Socket, connection: Connection): void {
    if (connection.open.length > 0 || !socket.writable) return
    if (connection.ends) socket.destroySoon()
    if (connection.failure === null) return
    refuseConnection(socket, connection.failure, accessLog, onEnded)
  }
}
