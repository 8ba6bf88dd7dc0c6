import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AccessLog } from '../../../application/ports/access-log.ts'
import type { Log } from '../../../application/ports/log.ts'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import { COMMON, CONTENT_TYPE } from '../response/response.ts'
import { ResponseHeads } from '../response/whole-response.ts'
import { createCors } from '../routing/cors.ts'
import type { Route } from '../routing/declared-route.ts'
import { createDispatch } from '../routing/dispatch.ts'
import { createRouter } from '../routing/router.ts'
import { ConnectionTable } from './connection-table.ts'
import { trackConnections } from './connections.ts'
import { type DrainTimes, drainServer } from './drain.ts'
import { Exchange } from './exchange.ts'
import { listen, listenerUrl } from './listen.ts'
import type { ServerHooks, ServerSettings } from './server-options.ts'

const MAX_HEADER_BYTES = 16 * 1024
const SWEEP_MS = 1000

/** The body of a request without one is then no stream. An option since node 24, which @types/node does not know yet. */
const EMPTY_REQUESTS = { optimizeEmptyRequests: true }

/** A listening server. */
export interface RunningServer {
  /** The bound address, such as `http://127.0.0.1:3000`. */
  readonly url: string
  readonly draining: () => boolean
  /** The number of requests whose response is not completely sent. */
  readonly activeRequests: () => number
  readonly openConnections: () => number
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
  {
    onEnded = () => {},
    onDropped = () => {},
    onError,
    admitsLine,
    onUntrustedProxy,
    tracing = null,
  }: ServerHooks = {},
): Promise<RunningServer> {
  const dispatch = createDispatch(createRouter(routes), useCases, log, {
    logErrorMessages: settings.logErrorMessages,
    onError,
    admitsLine,
    requestTimeoutMs: routes.some((route) => route.requestTimeoutMs !== null)
      ? settings.requestTimeoutMs
      : null,
    hasTokenScheme: settings.foreignTokens?.includes('drf') ?? false,
    onLate: ({ request }) => connections.failed(request.socket, { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
  })
  const table = new ConnectionTable(
    settings.maxConnections,
    onDropped,
    Math.ceil(settings.keepAliveTimeoutMs / SWEEP_MS) + 1,
  )
  const connections = trackConnections(table, accessLog, onEnded, tracing === null ? dispatch : traced)
  const cors = createCors(settings.corsOrigins, settings.corsHeaders)
  const shared = {
    bodyLimitBytes: settings.bodyLimitBytes,
    accessLog,
    trustedProxies: settings.trustedProxies,
    heads: new ResponseHeads([...CONTENT_TYPE, ...COMMON], settings.keepAliveTimeoutMs),
  }
  let draining = false

  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: Math.min(settings.headersTimeoutMs, settings.requestTimeoutMs),
    // The longest of all; the dispatch applies that of the route.
    requestTimeout: Math.max(
      settings.requestTimeoutMs,
      ...routes.map(({ requestTimeoutMs }) => requestTimeoutMs ?? 0),
    ),
    // The sweep closes idle connections: node's timer costs a twentieth of a request.
    keepAliveTimeout: 0,
    connectionsCheckingInterval: SWEEP_MS,
    // `checkRequest` refuses these requests in the envelope; node would respond without it, or close without a response.
    requireHostHeader: false,
    insecureHTTPParser: false,
    ...EMPTY_REQUESTS,
  })
  server.maxHeadersCount = 0
  // Node's own property, without documentation: a client that has closed its side still gets its responses.
  Object.assign(server, { httpAllowHalfOpen: true })
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
  let maxStallMs = settings.requestTimeoutMs
  const sweep = setInterval(() => {
    table.closeStalled(maxStallMs)
    table.closeIdle()
  }, SWEEP_MS).unref()
  return {
    url: listenerUrl(server.address() as AddressInfo),
    draining: () => draining,
    activeRequests: () => connections.openCount,
    openConnections: () => table.size,
    async drain(times) {
      draining = true
      maxStallMs = Math.min(maxStallMs, times.deadlineMs / 2)
      await drainServer(server, connections, table, times)
      clearInterval(sweep)
    },
  }

  function serve(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    const exchange = new Exchange(request, response, shared)
    exchange.awaitsContinue = awaitsContinue
    if (tracing !== null) exchange.traceContext = tracing.capture()
    if (cors !== null) exchange.headers = cors(request)
    if (shared.trustedProxies === 0 && exchange.head.hasForwardedFor) onUntrustedProxy?.()
    // The protocol does not change, but node's parser drops what follows in the same segment (RFC 9110, section 7.8).
    exchange.closes = draining || exchange.head.hasUpgrade
    connections.begin(exchange)
  }

  function traced(exchange: Exchange): void {
    const { method, headers } = exchange.request
    tracing?.serve({ method, headers, requestId: exchange.requestId }, exchange.traceContext, (span) => {
      exchange.span = span
      dispatch(exchange)
    })
  }
}
