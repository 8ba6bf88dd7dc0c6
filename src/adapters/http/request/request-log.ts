import type { Log, LogFields } from '../../../application/ports/log.ts'
import type { Exchange } from '../server/exchange.ts'

/** The log as a handler has it: fields are words and numbers of its own choice, never an object that holds more. */
export interface RequestLog {
  info(event: string, fields?: RequestLogFields): void
  warn(event: string, fields?: RequestLogFields): void
  error(event: string, fields?: RequestLogFields): void
}

type RequestLogFields = Readonly<Record<string, string | number | boolean | null>>

/** The service's log, with the id, the trace and the route of one request in every line. */
export function requestLog(log: Log, { requestId, traceId, route }: Exchange): RequestLog {
  const withRequest = (fields: RequestLogFields = {}): LogFields => ({
    ...fields,
    request_id: requestId,
    ...(traceId === null ? {} : { trace_id: traceId }),
    ...(route === null ? {} : { route }),
  })
  return {
    info: (event, fields) => log.info(event, withRequest(fields)),
    warn: (event, fields) => log.warn(event, withRequest(fields)),
    error: (event, fields) => log.error(event, withRequest(fields)),
  }
}
