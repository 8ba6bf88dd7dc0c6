/** Returns the number of characters, which are code points: an emoji may have several. */
export function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** Returns the problem with a text of one line as one sentence, or null when it is valid. */
export function lineProblem(text: string): string | null {
  if (!text.isWellFormed()) return 'Must be well-formed text.'
  if (/[\u0000-\u001f\u007f-\u009f]/.test(text)) return 'Must not contain control characters.'
  return null
}
