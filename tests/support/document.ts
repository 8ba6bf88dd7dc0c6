import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { sqlOn } from './database.ts'

const ROOT = join(import.meta.dirname, '../..')
const TABLE = /^\|.*(?:\n\|.*)*/m

/** Returns a Markdown table with aligned columns. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

/** Returns the part of a document from a heading to the next one, of any level. Fails when there is no such heading. */
function readSection(file: string, heading: string): string {
  const [before, ...sections] = readDocument(file).split(/^(?=#{1,6} )/m)
  const section = [before, ...sections].find((part) => part?.replace(/^#+ /, '').startsWith(`${heading}\n`))
  assert.ok(section !== undefined, `${file} has no section ${heading}`)
  return section
}

/** Returns the headings of a document, without their marks. */
export function readHeadings(file: string): readonly string[] {
  return [...readDocument(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
}

/** Returns the cells of the first table of a section, without its head. */
export function readTable(file: string, heading: string): readonly (readonly string[])[] {
  const [table] = TABLE.exec(readSection(file, heading)) ?? []
  assert.ok(table !== undefined, `${file} has no table in the section ${heading}`)
  return table
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    )
}

/**
 * Compares the first table of a section with the rows of the code. With `UPDATE_DOCUMENTS=1`, it writes the table into the
 * document instead.
 */
export function checkTable(
  file: string,
  heading: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const section = readSection(file, heading)
  const table = markdownTable(
    head,
    rows.map((row) => row.map(escapeCell)),
  )
  if (process.env.UPDATE_DOCUMENTS === '1') {
    const updated = section.replace(TABLE, () => table)
    writeFileSync(
      join(ROOT, file),
      readDocument(file).replace(section, () => updated),
    )
    return
  }
  assert.equal(TABLE.exec(section)?.[0], table, `${file}: run this test with UPDATE_DOCUMENTS=1`)
}

function readDocument(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** Outside of code, Markdown would read `<` as the begin of a tag; `|` would end the cell. */
function escapeCell(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll('<', '\\<')).replaceAll('|', '\\|'))
    .join('')
}

/** Returns the day, the machine and the versions, for comparing measurements. */
export async function measuredWhere(databaseUrl: string): Promise<string> {
  const [row] = await sqlOn<{ server_version: string }>(databaseUrl, 'show server_version')
  const day = new Date().toISOString().slice(0, 10)
  const processors = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`
  return `${day}, ${processors}, Node ${process.version.slice(1)}, PostgreSQL ${row?.server_version.split(' ')[0]}`
}
