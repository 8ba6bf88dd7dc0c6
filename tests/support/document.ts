import { cpus } from 'node:os'
import { sqlOn } from './database.ts'

/** Returns a Markdown table with aligned columns. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

/** Returns the day, the machine and the versions, for comparing measurements. */
export async function measuredWhere(databaseUrl: string): Promise<string> {
  const [row] = await sqlOn<{ server_version: string }>(databaseUrl, 'show server_version')
  const day = new Date().toISOString().slice(0, 10)
  const processors = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`
  return `${day}, ${processors}, Node ${process.version.slice(1)}, PostgreSQL ${row?.server_version.split(' ')[0]}`
}
