import type { Deadline } from '../../../application/deadline.ts'
import type { Requester } from '../../../application/requester.ts'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import type { RequestLog } from './request-log.ts'

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
