import type { Deadline } from '../../../application/deadline.ts'
import type { Log } from '../../../application/ports/log.ts'
import type { Requester } from '../../../application/requester.ts'
import type { Caller } from '../../../application/use-cases/authenticate.ts'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import type { Exchange } from '../server/exchange.ts'
import { type RequestLog, requestLog } from './request-log.ts'

/** The caller: a customer, a service, or anonymous. */
export type AnyCaller = Partial<Caller> & { readonly service?: string }

/** The validated input. */
export interface RequestInput {
  readonly body: unknown
  /** The bytes of a JSON body, when the route declares `rawBody`. */
  readonly rawBody: Uint8Array | undefined
  /** Rejects when a streamed body cannot be read to its end; null for other bodies. */
  readonly bodyFailed: Promise<never> | null
  readonly query: unknown
  readonly params: unknown
}

/** What the handlers of one service share. */
export interface HandlerServices {
  readonly log: Log
  readonly useCases: UseCases
}

/**
 * What every handler receives, for any caller. It is a class so that the compiler knows that a spread or a rest omits the
 * getters, which are computed on access.
 */
export declare abstract class RequestContext {
  /** The request ID, which the client and the log have too. */
  abstract get requestId(): string
  /** The trace id, 32 hexadecimal digits; null without a trace. */
  abstract get traceId(): string | null
  /** The headers by lower-case name, as in `node:http`. */
  abstract get headers(): Readonly<Record<string, string | string[] | undefined>>
  /** The address of the client: an IPv4 address, or the first 64 bits of an IPv6 address. Computed on access. */
  abstract get clientAddress(): string
  /** The use cases of the service, such as `useCases.customers`. */
  abstract get useCases(): UseCases
  /** The deadline of this request's calls to stores. */
  readonly deadline: Deadline
  /** The client's address, and the signal that aborts when it no longer waits for the response. */
  readonly requester: Requester
  /** Aborts when the client disconnects or the route's deadline passes. Created on first access. */
  abstract get signal(): AbortSignal
  /** A log that adds the request id and the route to each line. Created on access. */
  abstract get log(): RequestLog
}

/** The context of one request. It is a class so that what most handlers do not use is only computed on access. */
export class Context implements RequestContext, Omit<RequestInput, 'bodyFailed'> {
  readonly customer: AnyCaller['customer']
  readonly token: AnyCaller['token']
  readonly digest: AnyCaller['digest']
  readonly service: string | undefined
  readonly body: unknown
  readonly rawBody: Uint8Array | undefined
  readonly query: unknown
  readonly params: unknown
  readonly deadline: Deadline
  readonly requester: Exchange
  private readonly services: HandlerServices

  constructor(
    caller: AnyCaller,
    input: RequestInput,
    exchange: Exchange,
    deadline: Deadline,
    services: HandlerServices,
  ) {
    this.customer = caller.customer
    this.token = caller.token
    this.digest = caller.digest
    this.service = caller.service
    this.body = input.body
    this.rawBody = input.rawBody
    this.query = input.query
    this.params = input.params
    this.deadline = deadline
    this.requester = exchange
    this.services = services
  }

  get requestId(): string {
    return this.requester.requestId
  }

  get traceId(): string | null {
    return this.requester.traceId
  }

  get headers(): RequestContext['headers'] {
    return this.requester.request.headers
  }

  get clientAddress(): string {
    return this.requester.address
  }

  get useCases(): UseCases {
    return this.services.useCases
  }

  get signal(): AbortSignal {
    return this.requester.signal
  }

  get log(): RequestLog {
    return requestLog(this.services.log, this.requester)
  }
}
