import type { Deadline } from '../../../application/deadline.ts'
import type { Log } from '../../../application/ports/log.ts'
import type { Requester } from '../../../application/requester.ts'
import type { Caller } from '../../../application/use-cases/authenticate.ts'
import type { Exchange } from '../server/exchange.ts'
import { type RequestLog, requestLog } from './request-log.ts'

/** Who calls: a customer, a service, or nobody known. */
export type AnyCaller = Partial<Caller> & { readonly service?: string }

/** What came in beside the caller, validated. */
export interface Input {
  readonly body: unknown
  readonly query: unknown
  readonly params: unknown
}

/**
 * What every handler is given, whoever calls. A class, so that the compiler knows what a spread or a rest of it leaves
 * behind: what has no place of its own is made when it is asked for by name.
 */
export declare abstract class RequestContext {
  abstract get requestId(): string
  /** 32 hexadecimal digits of the trace that the request is part of; null where there is none. */
  abstract get traceId(): string | null
  /** Header lines by lower-case name, as node:http has them. */
  abstract get headers(): Readonly<Record<string, string | string[] | undefined>>
  /** What this request may still spend on waiting for its stores. */
  readonly deadline: Deadline
  /** Where the request comes from, and whether its answer is still wanted. */
  readonly requester: Requester
  /** Aborts when the client goes away or the route's deadline passes; made when it is first asked for. */
  abstract get signal(): AbortSignal
  /** Writes lines that carry the request id and the route; made when it is first asked for. */
  abstract get log(): RequestLog
}

/** One request as its handler sees it. A class, so that what most handlers do not ask for is not made for them. */
export class Context implements RequestContext, Input {
  readonly customer: AnyCaller['customer']
  readonly token: AnyCaller['token']
  readonly digest: AnyCaller['digest']
  readonly service: string | undefined
  readonly body: unknown
  readonly query: unknown
  readonly params: unknown
  readonly deadline: Deadline
  readonly requester: Exchange
  private readonly serviceLog: Log

  constructor(caller: AnyCaller, input: Input, exchange: Exchange, deadline: Deadline, log: Log) {
    this.customer = caller.customer
    this.token = caller.token
    this.digest = caller.digest
    this.service = caller.service
    this.body = input.body
    this.query = input.query
    this.params = input.params
    this.deadline = deadline
    this.requester = exchange
    this.serviceLog = log
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

  get signal(): AbortSignal {
    return this.requester.signal
  }

  get log(): RequestLog {
    return requestLog(this.serviceLog, this.requester)
  }
}
