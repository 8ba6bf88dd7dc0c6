import type { RespondedRequest } from '../../application/ports/access-log.ts'
import type { Clock } from '../../lib/clock.ts'

/**
 * Returns a function that formats the line of a response: ASCII, with a line feed. The line is concatenated by hand,
 * because `JSON.stringify` and formatting the time of each line would cost more than everything else.
 */
export function createLineFormatter(
  clock: Clock,
): (responded: RespondedRequest, status: number, timed: boolean) => string {
  const time = cachedTimes(clock)
  return function formatLine({ requestId, traceId, spanId, method, route, beganMs }, status, timed) {
    const ms = !timed || beganMs === null ? '' : `,"ms":${tenths(clock.monotonicMs() - beganMs)}`
    return (
      `{"level":"info","time":"${time()}","request_id":${quoteJson(requestId)}` +
      (traceId === null ? '' : `,"trace_id":"${traceId}"`) +
      (spanId === null ? '' : `,"span_id":"${spanId}"`) +
      (method === null ? '' : `,"method":${quoteJson(method)}`) +
      (route === null ? '' : `,"route":${quoteJson(route)}`) +
      `,"status":${status}${ms},"event":"request"}\n`
    )
  }
}

/** Returns the line of an event that is only counted, of one address, or of any if that is null. */
export function countLine(
  level: 'info' | 'warn',
  event: string,
  count: number,
  { nowMs }: Clock,
  address: string | null = null,
): string {
  const time = new Date(nowMs()).toISOString()
  const from = address === null ? '' : `"address":${quoteJson(address)},`
  return `{"level":"${level}","time":"${time}",${from}"count":${count},"event":"${event}"}\n`
}

/** Returns the current time as ISO 8601; the text is cached for its millisecond. */
function cachedTimes({ nowMs }: Clock): () => string {
  let cachedMs = Number.NaN
  let text = ''
  return function time() {
    const ms = nowMs()
    if (ms !== cachedMs) {
      cachedMs = ms
      text = new Date(ms).toISOString()
    }
    return text
  }
}

/** A number with one decimal; `toFixed` takes five times as long. */
function tenths(ms: number): string {
  const count = Math.round(ms * 10)
  const rest = count % 10
  return `${(count - rest) / 10}.${rest}`
}

/** A JSON string in ASCII. */
function quoteJson(text: string): string {
  return /^[\w.~:/-]*$/.test(text) ? `"${text}"` : JSON.stringify(text).replace(/[^ -~]/g, escapeUnit)
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
