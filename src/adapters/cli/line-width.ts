/** Returns the columns of a terminal. A file or a pipe has no limit, so that each line stays whole for other programs. */
export function lineWidth({ columns }: { readonly columns?: number }): number {
  return columns === undefined || columns === 0 ? Number.POSITIVE_INFINITY : columns
}

/** Formats a prefix and a text as lines of this width: the text continues below its beginning. A long word stays whole. */
export function wrapText(prefix: string, text: string, width: number): string {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    const longer = `${line} ${word}`
    if (line === undefined || prefix.length + [...longer].length > width) lines.push(word)
    else lines[lines.length - 1] = longer
  }
  const indent = ' '.repeat(prefix.length)
  return lines.map((line, at) => `${at === 0 ? prefix : indent}${line}\n`).join('')
}
