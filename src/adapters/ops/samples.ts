import type { Clock } from '../../lib/clock.ts'
import { COLUMNS, type ColumnName } from './columns.ts'
import { type ReadableFamily, type Reading, readMetrics } from './reading.ts'

/** `everyMs` is the interval between samples, `keep` the number of stored samples. */
export interface SamplingTimes {
  readonly everyMs: number
  readonly keep: number
}

/** The last 15 minutes. */
export const SAMPLING_TIMES: SamplingTimes = { everyMs: 5000, keep: 180 }

/** The stored samples, oldest first, by column; null where there is no value. */
export type SampleTable = { readonly at_ms: readonly number[] } & {
  readonly [Name in ColumnName]: readonly (number | null)[]
}

/** A ring buffer of samples: the newest replaces the oldest. */
export interface Samples {
  /** Reads the metrics and stores the changes since the previous reading. The first reading stores nothing. */
  take(): Promise<void>
  table(): SampleTable
}

const NAMES = Object.keys(COLUMNS) as readonly ColumnName[]
const WIDTH = 1 + NAMES.length
const DIGITS = 4

/** Returns an empty ring buffer of `keep` samples. */
export function createSamples({
  collect,
  clock,
  keep,
}: {
  readonly collect: () => Promise<readonly ReadableFamily[]>
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>
  readonly keep: number
}): Samples {
  const ring = new Float64Array(keep * WIDTH)
  let taken = 0
  let before: { readonly reading: Reading; readonly atMs: number } | null = null

  return {
    async take() {
      const reading = readMetrics(await collect())
      const now = { reading, atMs: clock.monotonicMs() }
      if (before !== null && now.atMs > before.atMs)
        storeRow(now.reading, before.reading, now.atMs - before.atMs)
      before = now
    },

    table() {
      const rows = Array.from({ length: Math.min(taken, keep) }, (_, at) => {
        const row = (Math.max(0, taken - keep) + at) % keep
        return ring.subarray(row * WIDTH, (row + 1) * WIDTH)
      })
      const columns = NAMES.map((name, at) => [name, rows.map((row) => round(row[at + 1]))])
      return { at_ms: rows.map(([atMs]) => atMs), ...Object.fromEntries(columns) }
    },
  }

  function storeRow(now: Reading, then: Reading, elapsedMs: number): void {
    const numbers = NAMES.map((name) => COLUMNS[name](now, then, elapsedMs / 1000))
    ring.set([Math.round(clock.nowMs()), ...numbers], (taken % keep) * WIDTH)
    taken++
  }
}

function round(value = Number.NaN): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(DIGITS)) : null
}
