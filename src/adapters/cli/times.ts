import { durationMs } from '../../lib/duration.ts'
import { Refusal } from './refusal.ts'

const MINUTE_MS = 60_000
/** ISO 8601 writes later years with more than four digits. */
const MAX_TIME_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const TIME =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?(?:[Zz]|([+-])(\d{2}):(\d{2})))?$/

/** A point in time given by an option. A duration counts from `nowMs`, forward or back. */
export type ResolveTime = (nowMs: number) => number

/** Parses a duration such as `90d` into milliseconds. Throws `Refusal`. */
export function parseDuration(option: string, text: string): number {
  const ms = durationMs(text)
  if (ms !== null) return ms
  throw new Refusal(`${option} must be a whole number and a unit (ms, s, m, h, d), at most 3650d.`)
}

/** Parses a future time: a duration from now, a date (00:00 UTC) or a time. Throws `Refusal`. */
export function momentAhead(option: string, text: string): ResolveTime {
  return parseMoment(option, text, 1)
}

/** Parses a past time: a duration ago, a date (00:00 UTC) or a time. Throws `Refusal`. */
export function momentBack(option: string, text: string): ResolveTime {
  return parseMoment(option, text, -1)
}

function parseMoment(option: string, text: string, sign: 1 | -1): ResolveTime {
  if (/^\d+[a-z]+$/.test(text)) {
    const ms = parseDuration(option, text)
    return (nowMs) => nowMs + sign * ms
  }
  const match = TIME.exec(text)
  if (match === null) {
    const [duration, date] = sign === 1 ? ['90d', '2030-01-31'] : ['2h', '2025-01-31']
    throw new Refusal(
      `${option} is not a time. Give a duration such as ${duration}, a date such as ${date}, ` +
        `or a time such as ${date}T12:00:00Z.`,
    )
  }
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((digits) => Number(digits ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const local = Date.UTC(year, month - 1, day, hour, minute, second)
  // Date.UTC rolls an invalid date over: a 30th of February becomes a 2nd of March.
  const written = match.slice(1, 7).map((digits) => (digits ?? '').padStart(2, '0'))
  const [offsetHour, offsetMinute] = [Number(match[9] ?? 0), Number(match[10] ?? 0)]
  const comesBack = new Date(local).toISOString().slice(0, 19).split(/[-T:]/).join() === written.join()
  if (!comesBack || offsetHour > 23 || offsetMinute > 59)
    throw new Refusal(`${option} is not a valid date or time.`)
  const offsetMs = (match[8] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute) * MINUTE_MS
  const atMs = local + Number((match[7] ?? '').padEnd(3, '0')) - offsetMs
  if (atMs > MAX_TIME_MS) throw new Refusal(`${option} is after the year 9999.`)
  return () => atMs
}
