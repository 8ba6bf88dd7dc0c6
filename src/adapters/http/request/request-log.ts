import type { Log, LogFields } from '../../../application/ports/log.ts'
import type { Exchange } from '../server/exchange.ts'

/** The log for handlers. Fields are primitive values, never objects, so that no secret is logged by accident. */
export interface RequestLog {
  info(event: string, fields?: RequestLogFields): void
  warn(event: string, fields?: RequestLogFields): void
  error(event: string, fields?: RequestLogFields): void
}

type RequestLogFields = Readonly<Record<string, string | number | boolean | null>>

/** The fields that the service itself writes. A handler's field of this name gets a `_` behind it. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['level', 'time', 'event', 'audit'],
  ...['request_id', 'trace_id', 'span_id', 'route'],
])

/** Returns a log that adds the request's id, the ids of its trace and span, and the route to each line. */
export function requestLog(log: Log, { requestId, traceId, spanId, route }: Exchange): RequestLog {
  const withRequest = (fields: RequestLogFields = {}): LogFields => ({
    ...Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [RESERVED.has(name) ? `${name}_` : name, value]),
    ),
    request_id: requestId,
    ...(traceId === null ? {} : { trace_id: traceId }),
    ...(spanId === null ? {} : { span_id: spanId }),
    ...(route === null ? {} : { route }),
  })
  return {
    info: (event, fields) => log.info(event, withRequest(fields)),
    warn: (event, fields) => log.warn(event, withRequest(fields)),
    error: (event, fields) => log.error(event, withRequest(fields)),
  }
}
