import { type CheckResult, checkFailed, checkPassed } from '../../../lib/check-result.ts'
import { withDirectClient } from '../connection/direct-client.ts'

const SAMPLES = 5
/** A skew that does not matter to token lifetimes and limit windows, which last seconds or more. */
const MAX_SKEW_MS = 1000

/** Checks that this machine's clock and the server's agree. */
export async function checkClock(url: string, queryMs: number): Promise<CheckResult> {
  const skewMs = await clockSkew(url, queryMs)
  const facts = { skew_ms: skewMs, threshold_ms: MAX_SKEW_MS }
  const message = `This machine's clock is ${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead of'} the database's.`
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return checkPassed('database.clock', message, facts)
  return checkFailed(
    'database.clock',
    'warning',
    message,
    'Synchronise both clocks with NTP: tokens expire by the clock of each instance.',
    facts,
  )
}

/** Returns how far this machine's clock is ahead of the server's, in whole milliseconds, from the fastest sample. */
function clockSkew(url: string, queryMs: number): Promise<number> {
  return withDirectClient(
    url,
    async (client) => {
      let best = { tookMs: Number.POSITIVE_INFINITY, skewMs: 0 }
      for (let sample = 0; sample < SAMPLES; sample++) {
        const sentMs = Date.now()
        const { rows } = await client.query(
          'select extract(epoch from clock_timestamp())::float8 * 1000 as now_ms',
        )
        const tookMs = Date.now() - sentMs
        // Assumes that the server read its clock half-way.
        if (tookMs < best.tookMs) best = { tookMs, skewMs: sentMs + tookMs / 2 - rows[0].now_ms }
      }
      return Math.round(best.skewMs)
    },
    queryMs,
  )
}
