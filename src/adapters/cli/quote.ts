/** Quotes the text as one word of a POSIX shell. */
export function quote(text: string): string {
  return /^[\w:/.=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
