import * as v from 'valibot'
import { durationMs } from '../../lib/duration.ts'

// A timer of node that is set to more than 24 days fires at once. Two of these durations and a few seconds fit into one.
const MAX_TIMER_MS = 864_000_000

/** `<integer><unit>` in milliseconds, above 0. */
export const duration = atLeast(1)

/** A duration that may be 0. */
export const durationOrZero = atLeast(0)

/** A duration, or null for `never`. */
export const durationOrNever = v.union(
  [
    v.pipe(
      v.literal('never'),
      v.transform(() => null),
    ),
    duration,
  ],
  'Must be never, or a whole number above 0 and a unit (ms, s, m, h, d), at most 3650d.',
)

/** A duration of at least five minutes, or null for `off`. */
export const idleDuration = v.union(
  [
    v.pipe(
      v.literal('off'),
      v.transform(() => null),
    ),
    atLeast(300_000),
  ],
  'Must be off, or a whole number and a unit (ms, s, m, h, d) from 5m to 3650d.',
)

/** Caps a duration at ten days, so that timers can take a sum of two. */
export function timer<Schema extends typeof duration>(schema: Schema) {
  return v.pipe(
    schema,
    v.transform((ms) => Math.min(ms, MAX_TIMER_MS)),
  )
}

function atLeast(minMs: number) {
  const positive = minMs > 0 ? ' above 0' : ''
  const message = `Must be a whole number${positive} and a unit (ms, s, m, h, d), at most 3650d.`
  return v.pipe(
    v.string(),
    v.transform((text) => durationMs(text) ?? Number.NaN),
    v.number(message),
    v.minValue(minMs, message),
  )
}
