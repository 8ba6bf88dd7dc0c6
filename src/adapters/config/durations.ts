import * as v from 'valibot'
import { durationMs } from '../../lib/duration.ts'

// A node timer that is set to more fires at once.
const MAX_TIMER_MS = 2 ** 31 - 1

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

/** Caps a duration at the longest time of a node timer (24 days). */
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
