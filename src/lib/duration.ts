const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const LONGEST_MS = 3650 * UNIT_MS.d

/** `<integer><unit>`, such as `90d`, in milliseconds; null for anything else and for more than 3650 days. */
export function durationMs(text: string): number | null {
  const [, digits = '', unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  if (unit === undefined) return null
  const ms = Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS]
  return ms <= LONGEST_MS ? ms : null
}
