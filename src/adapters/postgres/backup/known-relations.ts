import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { knownMigrations, type MigrationSet } from '../migration-set.ts'
import type { RelationName } from './format.ts'

const NAME = '("(?:[^"]|"")+"|[\\w$\\u0080-\\uffff]+)'
const COMMENTS = /--[^\n]*|\/\*[\s\S]*?\*\//g
const CREATED = new RegExp(
  `\\bcreate\\s+(?:unlogged\\s+)?(?:table|sequence)\\s+(?:if\\s+not\\s+exists\\s+)?${NAME}(?:\\s*\\.\\s*${NAME})?`,
  'gi',
)
const RENAMED = new RegExp(`\\brename\\s+to\\s+${NAME}`, 'gi')

/**
 * Returns the tables and sequences that the migrations of the sets create, also those that a later migration drops. A schema
 * is null where the file names none: that of Latchkey's tables.
 */
export async function knownRelations(sets: readonly MigrationSet[]): Promise<readonly RelationName[]> {
  const found: RelationName[] = []
  for (const set of sets) {
    for (const table of set.tables ?? []) found.push(toName(table.split('.').map((part) => `"${part}"`)))
    for (const name of await knownMigrations(set)) {
      const text = await readFile(join(set.folder, `${name}.sql`), 'utf8')
      const sql = text.replaceAll(COMMENTS, ' ')
      for (const [, ...parts] of [...sql.matchAll(CREATED), ...sql.matchAll(RENAMED)])
        found.push(toName(parts.filter((part) => part !== undefined)))
    }
  }
  return found
}

function toName(parts: readonly string[]): RelationName {
  const [name = '', schema] = parts.map(unquote).reverse()
  return { schema: schema ?? null, name }
}

/** As PostgreSQL reads an identifier (section 4.1.1). */
function unquote(part: string): string {
  return part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part.toLowerCase()
}
