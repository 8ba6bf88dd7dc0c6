import * as v from 'valibot'

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const MAX_MS = 3650 * UNIT_MS.d

// A longer timer of node's fires at once.
const MAX_TIMER_MS = 2 ** 31 - 1

/** `<integer><unit>` as milliseconds, longer than nothing. */
export const duration = atLeast(1)

/** A duration that may be 0. */
export const durationOrZero = atLeast(0)

/** A duration, or `never` as null. */
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

/** What a timer can wait: the duration, and 24 days for those that are longer. */
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
    v.regex(/^\d+(ms|s|m|h|d)$/, message),
    v.transform(milliseconds),
    v.minValue(minMs, message),
    v.maxValue(MAX_MS, message),
  )
}

function milliseconds(text: string): number {
  const digits = /^\d+/.exec(text)?.[0] ?? ''
  return Number(digits) * UNIT_MS[text.slice(digits.length) as keyof typeof UNIT_MS]
}
