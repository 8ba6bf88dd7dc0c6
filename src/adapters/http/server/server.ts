import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { AccessLog } from '../../../application/ports/access-log.ts'
import type { Log } from '../../../application/ports/log.ts'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import { Unavailable } from '../../../domain/errors.ts'
import { sendFailure } from '../response/response.ts'
import { createCors } from '../routing/cors.ts'
import type { Route } from '../routing/declared-route.ts'
import { createDispatch } from '../routing/dispatch.ts'
import { createRouter } from '../routing/router.ts'
import { createConnections } from './connections.ts'
import { type Ended, Exchange, type ExchangeSpan } from './exchange.ts'

const MAX_HEADER_BYTES = 16 * 1024
const SWEEP_MS = 1000
const LAST_WORDS_MS = 250
/** A turn of the loop that does next to nothing, and how many are looked at for one. */
const IDLE_TURN_MS = 0.1
const MOST_TURNS = 1000

/** How the server listens and what it bears. */
export interface ServerSettings {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly bodyLimitBytes: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly corsOrigins: readonly string[]
  /** Proxies in front whose entries of `X-Forwarded-For` are believed. */
  readonly trustedProxies: number
  /** Whether the log has the messages of errors that are not the service's own. */
  readonly logErrorMessages: boolean
}

/** Who wants to hear of what the server does. Called on the hot path, they neither throw nor wait. */
export interface ServerHooks {
  /** Called once for each exchange, when its answer is sent or its client has gone. */
  readonly onEnded?: (ended: Ended) => void
  /** Called with each bug as it was thrown, and with each `Unavailable`. */
  readonly onError?: (error: unknown) => void
  /** Makes a span of each request; null where nobody traces. */
  readonly tracing?: {
    serve(request: IncomingMessage, serve: (span: ExchangeSpan) => void): void
  } | null
}

/** A server that listens. */
export interface RunningServer {
  /** The address really bound, such as `http://127.0.0.1:3000`. */
  readonly url: string
  readonly draining: () => boolean
  /** Requests whose answer is not all sent yet. */
  readonly activeRequests: () => number
  /**
   * Ends it: for `delayMs` every request is still served, with `Connection: close`; then the listener closes and
   * requests in flight end; past `deadlineMs` more, those that are left get 503.
   */
  drain(times: { readonly delayMs: number; readonly deadlineMs: number }): Promise<void>
}

/** Serves the routes on raw node:http; rejects with node's error when the address cannot be bound. */
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
  })
  const connections = createConnections(accessLog, onEnded, tracing === null ? dispatch : traced)
  const cors = createCors(settings.corsOrigins)
  let draining = false

  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: Math.min(settings.headersTimeoutMs, settings.requestTimeoutMs),
    requestTimeout: settings.requestTimeoutMs,
    keepAliveTimeout: settings.keepAliveTimeoutMs,
    connectionsCheckingInterval: SWEEP_MS,
    // The gate refuses what these would answer without the envelope, or drop without a word.
    requireHostHeader: false,
    insecureHTTPParser: false,
  })
  server.maxHeadersCount = 0
  server.on('connection', (socket) => connections.add(socket))
  server.on('request', (request, response) => serve(request, response, false))
  server.on('checkContinue', (request, response) => serve(request, response, true))
  // A client with an expectation that fails may leave its body unsent, so what follows cannot be trusted.
  server.on('checkExpectation', (request, response) => serve(request, response, true))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    connections.failed(socket as never, error),
  )
  server.on('connect', (_request, socket) => connections.failed(socket as never, { code: 'CONNECT' }))

  await listen(server, settings)
  return {
    url: serverUrl(server.address() as AddressInfo),
    draining: () => draining,
    activeRequests: () => connections.openCount,
    drain,
  }

  function serve(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    const { bodyLimitBytes, trustedProxies } = settings
    const exchange = new Exchange(request, response, {
      awaitsContinue,
      bodyLimitBytes,
      headers: cors(request),
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

  async function drain({ delayMs, deadlineMs }: { delayMs: number; deadlineMs: number }): Promise<void> {
    draining = true
    connections.closeBehindOpen()
    if (delayMs > 0) await sleep(delayMs)
    await untilQueueIsEmpty()
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeIdleConnections()
    const timer = setTimeout(giveUp, deadlineMs)
    await new Promise<void>((resolve) => connections.whenIdle(resolve))
    clearTimeout(timer)
    // What is left has sent no whole request: slow heads and silence.
    server.closeAllConnections()
    await closed
  }

  function giveUp(): void {
    for (const exchange of connections.open()) sendFailure(exchange, new Unavailable())
    setTimeout(() => server.closeAllConnections(), LAST_WORDS_MS)
  }
}

/**
 * Resolves just after the listener has taken in whoever waited for it. The system resets the others when it closes,
 * and a balancer may have sent them a request that it must not repeat.
 */
async function untilQueueIsEmpty(): Promise<void> {
  for (let semaphore = 0; semaphore < MOST_TURNS; semaphore++) {
    const beganMs = performance.now()
    await nextTurn()
    if (performance.now() - beganMs < IDLE_TURN_MS) return
  }
}

/**
 * Answers the address that can be bound, such as `http://127.0.0.1:3000`, or rejects with node's error, so that a start
 * can end before it has done anything.
 */
export async function freeAddress({ host, port }: { host: string; port: number }): Promise<string> {
  const probe = createServer()
  await listen(probe, { host, port })
  const url = serverUrl(probe.address() as AddressInfo)
  await new Promise((resolve) => probe.close(resolve))
  return url
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function serverUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
