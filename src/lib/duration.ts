const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const MAX_MS = 3650 * UNIT_MS.d

/** Parses `<integer><unit>`, such as `90d`. Returns milliseconds, or null for other text and for more than 3650 days. */
export function durationMs(text: string): number | null {
  const [, digits = '', unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  if (unit === undefined) return null
  const ms = Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS]
  return ms <= MAX_MS ? ms : null
}
