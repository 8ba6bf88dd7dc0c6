import type { IncomingMessage } from 'node:http'
import type { AccessLog } from '../../../application/ports/access-log.ts'
import type { DropReason, EndedRequest, RequestSpan } from '../../../application/ports/request-observers.ts'
import type { ForeignForm } from '../../../domain/foreign-token.ts'
import type { ResponseHeads } from '../response/whole-response.ts'

/** The server's address and limits. */
export interface ServerSettings {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  readonly bodyLimitBytes: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  /** At this number of connections, the one that has been idle for longest is closed, or else the new one refused. */
  readonly maxConnections: number
  readonly corsOrigins: readonly string[]
  readonly corsHeaders: readonly string[]
  /** The number of proxies in front whose `X-Forwarded-For` entries are trusted. */
  readonly trustedProxies: number
  /** Whether the log includes the messages of errors that are not the service's own. */
  readonly logErrorMessages: boolean
  /** The systems whose tokens are accepted; `drf` has a scheme of its own. Default: none. */
  readonly foreignTokens?: readonly ForeignForm[]
}

/** What the exchanges of one server share. */
export interface ExchangeSettings extends Pick<ServerSettings, 'bodyLimitBytes' | 'trustedProxies'> {
  readonly accessLog: AccessLog
  readonly heads: ResponseHeads
}

/** Observers of the server. They are called on the hot path: they must not throw or block. */
export interface ServerHooks {
  /** Called once for each exchange, when its response is sent or its client has disconnected. */
  readonly onEnded?: (ended: EndedRequest) => void
  /** Called for each connection that is closed or refused because of a limit. */
  readonly onDropped?: (reason: DropReason) => void
  /** Called with each bug as it was thrown, and with each `Unavailable`. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Whether a response with 500 or 503 to this address is logged. Default: always. */
  readonly admitsLine?: (address: string) => boolean
  /** Called for a request with `X-Forwarded-For` while no proxy is trusted. */
  readonly onUntrustedProxy?: (() => void) | undefined
  /** Creates a span for each request; null without tracing. */
  readonly tracing?: Tracing | null
}

/** See `openTelemetryTracing`. */
interface Tracing {
  capture(): unknown
  serve(
    request: Pick<IncomingMessage, 'method' | 'headers'> & { readonly requestId: string },
    captured: unknown,
    serve: (span: RequestSpan) => void,
  ): void
}
