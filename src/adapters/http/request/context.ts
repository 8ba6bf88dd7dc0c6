import type { Deadline } from '../../../application/deadline.ts'
import type { Log } from '../../../application/ports/log.ts'
import type { Caller } from '../../../application/use-cases/authenticate.ts'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import type { Exchange } from '../server/exchange.ts'
import type { RequestContext } from './request-context.ts'
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

/** The context of one request. It is a class so that what most handlers do not use is only computed on access. */
export class Context implements RequestContext, Omit<RequestInput, 'bodyFailed'> {
  readonly customer: AnyCaller['customer']
  readonly token: AnyCaller['token']
  readonly digest: AnyCaller['digest']
  readonly memo: AnyCaller['memo']
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
    this.memo = caller.memo
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
