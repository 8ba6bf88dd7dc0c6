/**
 * Replaces every character that could move a terminal's cursor, reorder its line or break it by U+FFFD. Rows of the
 * database may have been written by hand.
 */
export function printable(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '\ufffd')
}

/** Returns a time as ISO 8601 in UTC, to the second. */
export function printableTime(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`
}
