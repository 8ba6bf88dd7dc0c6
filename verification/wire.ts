import { isDeepStrictEqual } from 'node:util'
import type { RawExchange, RawResponse } from '../tests/support/raw-http.ts'
import type { Trial } from './row.ts'

/** A small seeded random generator (mulberry32). */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}

/** Returns what is wrong with the form of a response, whatever its status; null when nothing is. */
export function flawOf(response: RawResponse | undefined): string | null {
  if (response === undefined) return 'no response'
  const { status, headers, body } = response
  if (status === 100) return null
  const value = (name: string) => headers.find(([other]) => other === name)?.[1]
  if (value('X-Content-Type-Options') !== 'nosniff' || value('Cache-Control') !== 'no-store')
    return `headers of ${status}`
  if (value('Server') !== undefined || value('X-Powered-By') !== undefined) return `${status} names its maker`
  const requestId = value('X-Request-Id') ?? ''
  if (!/^[A-Za-z0-9._-]{1,128}$/.test(requestId)) return `request id of ${status}`
  if (status === 204) return body === '' ? null : '204 with a body'
  if (value('Content-Type') !== 'application/json; charset=utf-8') return `type of ${status}`
  if (body === '') return `${status} without a body`
  try {
    // Readiness details, for service tokens only.
    const { checks: _, ...envelope } = JSON.parse(body)
    if (status < 300) return envelope.success === true ? null : `body of ${status}`
    if (status === 503)
      return isUnavailable(value('Retry-After'), requestId, envelope) ? null : 'a 503 of another kind'
    const whole = envelope.success === false && envelope.code === status && envelope.error && envelope.reason
    return whole && envelope.request_id === requestId ? null : `envelope of ${status}`
  } catch {
    return `${status} that is not JSON`
  }
}

/** Whether the body is exactly the 503 that asks the client to retry. */
export function isUnavailable(
  retryAfter: string | null | undefined,
  requestId: string | null,
  body: unknown,
): boolean {
  return (
    retryAfter === '1' &&
    isDeepStrictEqual(body, {
      success: false,
      code: 503,
      error: 'The service cannot respond right now. Please try again.',
      reason: 'unavailable',
      request_id: requestId,
    })
  )
}

/**
 * Expects exactly these statuses, each in a well-formed response, and a closed connection when the last one announces
 * it.
 */
export function expectResponses(
  trial: Trial,
  label: string,
  seen: RawExchange,
  statuses: readonly number[],
): void {
  const flaw = seen.responses.map(flawOf).find((text) => text !== null)
  const last = seen.responses.at(-1)
  const closes = last?.headers.some(([name, value]) => name === 'Connection' && value === 'close') === true
  const got = seen.responses.map(({ status }) => status)
  const holds = flaw === undefined && `${got}` === `${statuses}` && (!closes || seen.closed)
  trial.expect(
    holds,
    () =>
      `${label}: got ${got}, not ${statuses}${flaw ? `, ${flaw}` : ''}${closes && !seen.closed ? ', left open' : ''}`,
  )
}

/** Calls `work` for 0 … count − 1, `parallel` at a time. */
export async function inParallel(
  count: number,
  parallel: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      while (next < count) await work(next++)
    }),
  )
}
