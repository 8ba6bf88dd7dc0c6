import type { Socket } from 'node:net'
import type { AccessLog } from '../../../application/ports/access-log.ts'
import { type HttpError, RequestTimeout } from '../errors.ts'
import { CLIENT_GONE, type Ended, type Exchange } from './exchange.ts'
import { type Pipeline, PipelineScheduler } from './pipelining.ts'
import { refuse } from './refuse.ts'
import { parserFailure } from './request-checks.ts'

interface Connection extends Pipeline {
  readonly open: Exchange[]
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
  /** The number of exchanges without their whole response, those that wait for their turn included. */
  readonly openCount: number
  /** Those exchanges now. */
  open(): readonly Exchange[]
  /** Calls back once none is open; at once where none is. */
  whenIdle(idle: () => void): void
}

export function createConnections(
  accessLog: AccessLog,
  onEnded: (ended: Ended) => void,
  dispatch: (exchange: Exchange) => void,
): Connections {
  const connections = new Map<Socket, Connection>()
  // A number and arrays: a Set that many short exchanges pass through keeps the ended ones alive until a full garbage
  // collection, as its outgrown tables refer to the newer ones.
  let openCount = 0
  const pipelines = new PipelineScheduler(dispatch, (pipeline) => condemn(pipeline as Connection))
  let whenIdle: (() => void) | null = null

  return {
    get openCount() {
      return openCount
    },

    open,

    add(socket) {
      const connection: Connection = {
        socket,
        open: [],
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
        for (const exchange of [...connection.open]) end(exchange, connection)
        connections.delete(socket)
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
      connection.open.push(exchange)
      connection.last = exchange
      openCount += 1
      exchange.response.on('close', () => end(exchange, connection))
      if (connection.open.length === 1) dispatch(exchange)
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
      const failure = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? new RequestTimeout() : parserFailure(code)
      const { last } = connection
      if (last !== null && !last.request.complete) {
        // The error lies in the body of the last request: its own answer tells of it, unless it has one.
        last.closes = true
        connection.ends = true
        if (connection.open.includes(last)) last.failBody(failure)
        else settle(socket, connection)
        return
      }
      connection.failure = failure
      settle(socket, connection)
    },

    closeBehindOpen() {
      // The one that closes takes what is due behind it with it: only the last of each connection may.
      for (const { open } of connections.values()) {
        const last = open.at(-1)
        if (last !== undefined) last.closes = true
      }
    },

    whenIdle(idle) {
      whenIdle = idle
      if (openCount === 0) idle()
    },
  }

  function open(): readonly Exchange[] {
    return [...connections.values()].flatMap((connection) => connection.open)
  }

  function of(socket: Socket): Connection {
    return connections.get(socket) as Connection
  }

  function end(exchange: Exchange, connection: Connection): void {
    // The end of the connection may come before that of the answer.
    if (!take(connection.open, exchange)) return
    openCount -= 1
    if (!exchange.response.writableFinished) exchange.cancel(CLIENT_GONE)
    exchange.span?.end(exchange)
    onEnded(exchange)
    if (exchange.closes) condemn(connection)
    if (connection.isScheduled) pipelines.schedule(connection)
    settle(exchange.request.socket, connection)
    if (openCount === 0) whenIdle?.()
  }

  /** Forgets the requests that wait behind a response that closes the connection. */
  function condemn(connection: Connection): void {
    connection.condemned = true
    for (const exchange of connection.waiting) if (take(connection.open, exchange)) openCount -= 1
    connection.waiting = []
  }

  /** Writes the parser's failure once nothing is due before it. */
  function settle(socket: Socket, connection: Connection): void {
    if (connection.open.length > 0 || !socket.writable) return
    if (connection.ends) socket.destroySoon()
    if (connection.failure === null) return
    refuse(socket, connection.failure, accessLog, onEnded)
  }
}

/** Removes the item; false when it is not there. */
function take<T>(items: T[], item: T): boolean {
  const index = items.indexOf(item)
  if (index === 0) items.shift()
  else if (index > 0) items.splice(index, 1)
  return index >= 0
}
