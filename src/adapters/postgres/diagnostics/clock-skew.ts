import { withDirectClient } from '../connection/direct-client.ts'

const SAMPLES = 5

/** Returns how far this machine's clock is ahead of the server's, in whole milliseconds, from the fastest sample. */
export function clockSkew(url: string, queryMs: number): Promise<number> {
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
