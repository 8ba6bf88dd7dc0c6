import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Latchkey } from '../../application/latchkey.ts'
import type { AccessLog, Log } from '../../application/ports.ts'
import { Unavailable } from '../../domain/errors.ts'
import { sendFailure } from './answer.ts'
import { makeConnections } from './connections.ts'
import { makeCors } from './cors.ts'
import { makeDispatch } from './dispatch.ts'
import { Exchange } from './exchange.ts'
import type { Route } from './route.ts'
import { makeRouter } from './router.ts'

const MAX_HEADER_BYTES = 16 * 1024
const SWEEP_MS = 1000
const LAST_WORDS_MS = 250

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
}

/** A server that listens. */
export interface RunningServer {
  /** The address really bound, such as `http://127.0.0.1:3000`. */
  readonly url: string
  readonly draining: () => boolean
  /**
   * Ends it: for `delayMs` every request is still served, with `Connection: close`; then the listener closes and
   * requests in flight end; past `deadlineMs` more, those that are left get 503.
   */
  drain(times: { readonly delayMs: number; readonly deadlineMs: number }): Promise<void>
}

/** Serves the routes on raw node:http; rejects with node's error when the address cannot be bound. */
export async function startServer(
  routes: readonly Route[],
  latchkey: Latchkey,
  log: Log,
  accessLog: AccessLog,
  settings: ServerSettings,
): Promise<RunningServer> {
  const dispatch = makeDispatch(makeRouter(routes), latchkey, log)
  const connections = makeConnections(accessLog)
  const cors = makeCors(settings.corsOrigins)
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
  server.on('request', (request, response) => serve(request, response, false))
  server.on('checkContinue', (request, response) => serve(request, response, true))
  // A client with an expectation that fails may leave its body unsent, so what follows cannot be trusted.
  server.on('checkExpectation', (request, response) => serve(request, response, true))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    connections.failed(socket as never, error),
  )
  server.on('connect', (_request, socket) => connections.failed(socket as never, { code: 'CONNECT' }))

  await listen(server, settings)
  return { url: urlOf(server.address() as AddressInfo), draining: () => draining, drain }

  function serve(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    const { bodyLimitBytes } = settings
    const exchange = new Exchange(request, response, {
      awaitsContinue,
      bodyLimitBytes,
      headers: cors(request),
      accessLog,
    })
    exchange.closes = draining
    if (connections.begin(exchange)) dispatch(exchange)
  }

  async function drain({ delayMs, deadlineMs }: { delayMs: number; deadlineMs: number }): Promise<void> {
    draining = true
    for (const exchange of connections.open) exchange.closes = true
    if (delayMs > 0) await sleep(delayMs)
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
    for (const exchange of connections.open) sendFailure(exchange, new Unavailable())
    setTimeout(() => server.closeAllConnections(), LAST_WORDS_MS)
  }
}

/**
 * Answers the address that can be bound, such as `http://127.0.0.1:3000`, or rejects with node's error, so that a start
 * can end before it has done anything.
 */
export async function freeAddress({ host, port }: { host: string; port: number }): Promise<string> {
  const probe = createServer()
  await listen(probe, { host, port })
  const url = urlOf(probe.address() as AddressInfo)
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

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
