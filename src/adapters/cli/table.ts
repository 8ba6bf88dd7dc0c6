const GAP = '  '

/** Returns a function that aligns rows page by page. A column is as wide as its widest cell so far. */
export function createTable(heading: readonly string[]): (rows: readonly (readonly string[])[]) => string {
  const widths = heading.map((cell) => cell.length)
  let isFirst = true
  return function aligned(rows) {
    const lines = isFirst ? [heading, ...rows] : rows
    isFirst = false
    for (const row of rows)
      for (const [column, cell] of row.entries())
        widths[column] = Math.max(widths[column] ?? 0, [...cell].length)
    return lines.map((row) => `${row.map(padded).join(GAP).trimEnd()}\n`).join('')
  }

  function padded(cell: string, column: number): string {
    return cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - [...cell].length))
  }
}

/** Formats lines of a name and a value, with the values aligned. */
export function pairs(entries: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}${GAP}${value}\n`).join('')
}
