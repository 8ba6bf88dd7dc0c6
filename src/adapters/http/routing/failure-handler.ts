import type { Log } from '../../../application/ports/log.ts'
import { LatchkeyError } from '../../../domain/errors.ts'
import { ApiError, apiErrorProblem } from '../api-error.ts'
import { Internal } from '../errors.ts'
import { hasStatus } from '../failure-reasons.ts'
import { describeError } from '../response/error-report.ts'
import { failureStatus } from '../response/failure-response.ts'
import { sendFailure } from '../response/response.ts'
import type { Exchange } from '../server/exchange.ts'

/** How the service's own failures are reported. */
export interface FailureReports {
  /** Whether the log includes the messages of errors that are not the service's own. */
  readonly logErrorMessages: boolean
  /** Called with each error of a response of status 500 or higher; with a bug as it was thrown. */
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
    const failure = toFailure(error)
    if (failureStatus(failure) >= 500) logFailure(exchange, failure)
    try {
      sendFailure(exchange, failure)
    } catch (cause) {
      const bug = new Internal(cause)
      logFailure(exchange, bug)
      sendFailure(exchange, bug)
    }
  }

  function logFailure(
    { requestId, address, traceId, spanId, request, route, responded }: Exchange,
    error: LatchkeyError,
  ): void {
    const { cause } = error
    onError(error instanceof Internal ? cause : error)
    // A bug is always logged with its request ID.
    if (!(error instanceof Internal) && !admitsLine(address)) return
    log[error instanceof Internal ? 'error' : 'warn']('request.failed', {
      request_id: requestId,
      ...(traceId === null ? {} : { trace_id: traceId }),
      ...(spanId === null ? {} : { span_id: spanId }),
      ...(request.method === undefined ? {} : { method: request.method }),
      ...(route === null ? {} : { route }),
      ...(responded ? { detail: 'The response was broken off.' } : {}),
      ...describeError(cause ?? error, { messages: logErrorMessages }),
    })
  }
}

/** Returns the failure for the client: `Internal` for an error that is not part of the public error table. */
function toFailure(error: unknown): LatchkeyError {
  if (!(error instanceof LatchkeyError)) return new Internal(error)
  if (!(error instanceof ApiError)) return hasStatus(error) ? error : new Internal(error)
  const problem = apiErrorProblem(error)
  return problem === null ? error : new Internal(new TypeError(problem, { cause: error }))
}
