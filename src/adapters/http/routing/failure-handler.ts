import type { Log } from '../../../application/ports/log.ts'
import { LatchkeyError, Unavailable } from '../../../domain/errors.ts'
import { type HttpError, Internal } from '../errors.ts'
import { hasStatus } from '../failure-reasons.ts'
import { describeError } from '../response/error-report.ts'
import { sendFailure } from '../response/response.ts'
import type { Exchange } from '../server/exchange.ts'

/** How the service's own failures are reported. */
export interface FailureReports {
  /** Whether the log includes the messages of errors that are not the service's own. */
  readonly logErrorMessages: boolean
  /** Called with each bug as it was thrown, and with each `Unavailable`. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Whether the failed request of an address gets a line in the log. Default: always. */
  readonly admitsLine?: ((address: string) => boolean) | undefined
}

/** Creates the function that turns each thrown error into the response, and logs bugs and outages. */
export function createFailureHandler(
  log: Log,
  { logErrorMessages, onError = () => {}, admitsLine = () => true }: FailureReports,
): (exchange: Exchange, error: unknown) => void {
  return fail

  function fail(exchange: Exchange, error: unknown): void {
    // An error caused by the cancellation of the request needs no report.
    if (exchange.isCancellation(error)) return
    // An error without a status has no place in the public error table.
    const failure = error instanceof LatchkeyError && hasStatus(error) ? error : new Internal(error)
    if (failure instanceof Internal || failure instanceof Unavailable) logFailure(exchange, failure)
    try {
      sendFailure(exchange, failure)
    } catch (cause) {
      const bug = new Internal(cause)
      logFailure(exchange, bug)
      sendFailure(exchange, bug)
    }
  }

  function logFailure(
    { requestId, address, traceId, request, route }: Exchange,
    error: HttpError | Unavailable,
  ): void {
    const { cause } = error
    onError(error instanceof Internal ? cause : error)
    if (!admitsLine(address)) return
    log[error instanceof Unavailable ? 'warn' : 'error']('request.failed', {
      request_id: requestId,
      ...(traceId === null ? {} : { trace_id: traceId }),
      ...(request.method === undefined ? {} : { method: request.method }),
      ...(route === null ? {} : { route }),
      ...describeError(cause ?? error, { messages: logErrorMessages }),
    })
  }
}
