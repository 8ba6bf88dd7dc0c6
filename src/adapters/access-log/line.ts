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
  return function formatLine({ requestId, traceId, method, route, beganMs }, status, timed) {
    const ms = !timed || beganMs === null ? '' : `,"ms":${tenths(clock.monotonicMs() - beganMs)}`
    return (
      `{"level":"info","time":"${time()}","request_id":${quote(requestId)}` +
      (traceId === null ? '' : `,"trace_id":"${traceId}"`) +
      (method === null ? '' : `,"method":${quote(method)}`) +
      (route === null ? '' : `,"route":${quote(route)}`) +
      `,"status":${status}${ms},"event":"request"}\n`
    )
  }
}

/** Returns the line of an event that is only counted. */
export function countLine(level: 'info' | 'warn', event: string, count: number, { nowMs }: Clock): string {
  return `{"level":"${level}","time":"${new Date(nowMs()).toISOString()}","count":${count},"event":"${event}"}\n`
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
function quote(text: string): string {
  return /^[\w.~:/-]*$/.test(text) ? `"${text}"` : JSON.stringify(text).replace(/[^ -~]/g, escapeUnit)
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
