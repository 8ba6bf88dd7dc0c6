import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AccessLog } from '../../../application/ports/access-log.ts'
import type { Log } from '../../../application/ports/log.ts'
import type { EndedRequest, RequestSpan } from '../../../application/ports/request-observers.ts'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import { createCors } from '../routing/cors.ts'
import type { Route } from '../routing/declared-route.ts'
import { createDispatch } from '../routing/dispatch.ts'
import { createRouter } from '../routing/router.ts'
import { trackConnections } from './connections.ts'
import { type DrainTimes, drainServer } from './drain.ts'
import { Exchange } from './exchange.ts'
import { listen, listenerUrl } from './listen.ts'

const MAX_HEADER_BYTES = 16 * 1024
const SWEEP_MS = 1000
const NO_HEADERS: readonly string[] = []

/** The server's address and limits. */
export interface ServerSettings {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  readonly bodyLimitBytes: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly corsOrigins: readonly string[]
  /** The number of proxies in front whose `X-Forwarded-For` entries are trusted. */
  readonly trustedProxies: number
  /** Whether the log includes the messages of errors that are not the service's own. */
  readonly logErrorMessages: boolean
}

/** Observers of the server. They are called on the hot path: they must not throw or block. */
export interface ServerHooks {
  /** Called once for each exchange, when its response is sent or its client has disconnected. */
  readonly onEnded?: (ended: EndedRequest) => void
  /** Called with each bug as it was thrown, and with each `Unavailable`. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Creates a span for each request; null without tracing. */
  readonly tracing?: {
    serve(request: IncomingMessage, serve: (span: RequestSpan) => void): void
  } | null
}

/** A listening server. */
export interface RunningServer {
  /** The bound address, such as `http://127.0.0.1:3000`. */
  readonly url: string
  readonly draining: () => boolean
  /** The number of requests whose response is not completely sent. */
  readonly activeRequests: () => number
  /**
   * Stops the server. For `delayMs`, requests are still served, with `Connection: close`. Then the listener closes, and
   * requests in flight have `deadlineMs` to end; those that remain get 503.
   */
  drain(times: DrainTimes): Promise<void>
}

/** Serves the routes on `node:http`. Rejects with node's error when the address cannot be bound. */
export async function startServer(
  routes: readonly Route[],
  useCases: UseCases,
  log: Log,
  accessLog: AccessLog,
  settings: ServerSettings,
  { onEnded = () => {}, onError, tracing = null }: ServerHooks = {},
): Promise<RunningServer> {
  const dispatch = createDispatch(createRouter(routes), useCases, log, {
    logErrorMessages: settings.logErrorMessages,
    onError,
    requestTimeoutMs: routes.some((route) => route.requestTimeoutMs !== null)
      ? settings.requestTimeoutMs
      : null,
    onLate: ({ request }) => connections.failed(request.socket, { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
  })
  const connections = trackConnections(accessLog, onEnded, tracing === null ? dispatch : traced)
  const cors = createCors(settings.corsOrigins)
  let draining = false

  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: Math.min(settings.headersTimeoutMs, settings.requestTimeoutMs),
    // The longest of all; the dispatch applies that of the route.
    requestTimeout: Math.max(
      settings.requestTimeoutMs,
      ...routes.map(({ requestTimeoutMs }) => requestTimeoutMs ?? 0),
    ),
    keepAliveTimeout: settings.keepAliveTimeoutMs,
    connectionsCheckingInterval: SWEEP_MS,
    // `checkRequest` refuses these requests in the envelope; node would respond without it, or close without a response.
    requireHostHeader: false,
    insecureHTTPParser: false,
  })
  server.maxHeadersCount = 0
  server.on('connection', (socket) => connections.add(socket))
  server.on('request', (request, response) => serve(request, response, false))
  server.on('checkContinue', (request, response) => serve(request, response, true))
  // `checkRequest` refuses the expectation. True closes the connection: the client may omit its body, so the bytes that
  // follow cannot be trusted.
  server.on('checkExpectation', (request, response) => serve(request, response, true))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    connections.failed(socket as never, error),
  )
  server.on('connect', (_request, socket) => connections.failed(socket as never, { code: 'CONNECT' }))

  await listen(server, settings)
  return {
    url: listenerUrl(server.address() as AddressInfo),
    draining: () => draining,
    activeRequests: () => connections.openCount,
    drain(times) {
      draining = true
      return drainServer(server, connections, times)
    },
  }

  function serve(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    const { bodyLimitBytes, trustedProxies } = settings
    const exchange = new Exchange(request, response, {
      awaitsContinue,
      bodyLimitBytes,
      headers: cors === null ? NO_HEADERS : cors(request),
      accessLog,
      trustedProxies,
    })
    exchange.closes = draining
    connections.begin(exchange)
  }

  function traced(exchange: Exchange): void {
    tracing?.serve(exchange.request, (span) => {
      exchange.span = span
      dispatch(exchange)
    })
  }
}
