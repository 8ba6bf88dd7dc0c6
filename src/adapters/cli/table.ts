import { wrapText } from './line-width.ts'

const GAP = '  '

/**
 * Returns a function that aligns rows page by page. A column is as wide as its widest cell so far. From the first row that
 * is wider than the terminal on, each row becomes a list of names and values.
 */
export function createTable(
  heading: readonly string[],
  maxWidth: number,
): (rows: readonly (readonly string[])[]) => string {
  const widths = heading.map((cell) => cell.length)
  let isFirst = true
  let isNarrow = false
  return function aligned(rows) {
    for (const row of rows)
      for (const [column, cell] of row.entries())
        widths[column] = Math.max(widths[column] ?? 0, [...cell].length)
    isNarrow ||= widths.reduce((sum, width) => sum + GAP.length + width, -GAP.length) > maxWidth
    const lines = isFirst ? [heading, ...rows] : rows
    const separator = isFirst ? '' : '\n'
    isFirst = false
    if (!isNarrow) return lines.map((row) => `${row.map(padded).join(GAP).trimEnd()}\n`).join('')
    return separator + rows.map(listed).join('\n')
  }

  function padded(cell: string, column: number): string {
    return cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - [...cell].length))
  }

  function listed(row: readonly string[]): string {
    return pairs(
      heading.map((name, column) => [name, row[column] ?? '']),
      maxWidth,
    )
  }
}

/** Formats lines of a name and a value, with the values aligned. */
export function pairs(
  entries: readonly (readonly [name: string, value: string])[],
  maxWidth: number,
): string {
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => wrapText(name.padEnd(width) + GAP, value, maxWidth)).join('')
}
