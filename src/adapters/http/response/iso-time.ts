/** Formats a time as ISO 8601 in UTC. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** Formats a time as ISO 8601 in UTC, or returns null. */
export function isoTimeOrNull(atMs: number | null): string | null {
  return atMs === null ? null : isoTime(atMs)
}
