import type { Client } from 'pg'
import { DatabaseRefused } from '../connection/database-refused.ts'
import { LEDGER } from '../connection/schema.ts'
import type { MigrationSet } from '../migration-set.ts'
import type { RelationName, SequenceState } from './format.ts'
import { knownRelations } from './known-relations.ts'

/** A table whose rows belong into a backup. */
export interface KnownTable extends RelationName {
  readonly oid: string
  /** The name for SQL. */
  readonly sql: string
  /** The table in FROM: without the rows of tables that inherit from it. */
  readonly from: string
  /** The columns that are stored, in order: not those that PostgreSQL generates. */
  readonly columns: readonly string[]
  /** The oids of the tables that its foreign keys refer to. */
  readonly refersTo: readonly string[]
}

/** The tables and sequences of a database. */
export interface Catalog {
  /** The tables that the program's migrations create, each after those that it refers to. */
  readonly tables: readonly KnownTable[]
  readonly sequences: readonly (SequenceState & { readonly sql: string })[]
  /** The names of all other tables. */
  readonly others: readonly string[]
}

/** Its name has a secret that a restored database must not share, so a restored database gets a new one. */
const CHANNEL = 'latchkey_channel'

// A table of an extension comes with the extension. Rows of a partition are those of its table.
const TABLES = `
  select pg_class.oid::text as oid, nullif(nspname, current_schema()) as schema, relname as name, pg_class.oid::regclass::text as sql,
         case relkind when 'p' then '' else 'only ' end || pg_class.oid::regclass as "from",
         array(select attname::text from pg_attribute
                where attrelid = pg_class.oid and attnum > 0 and not attisdropped and attgenerated = ''
                order by attnum) as columns,
         array(select confrelid::text from pg_constraint
                where conrelid = pg_class.oid and contype = 'f' and confrelid <> pg_class.oid) as "refersTo"
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace
   where relkind in ('r', 'p') and not relispartition and relpersistence <> 't'
     and nspname !~ '^pg_' and nspname <> 'information_schema'
     and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')
   order by nspname, relname`

const SEQUENCES = `
  select nullif(nspname, current_schema()) as schema, relname as name, pg_class.oid::regclass::text as sql,
         array(select refobjid::text from pg_depend
                where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype in ('a', 'i')) as owners,
         coalesce(least(pg_sequence_last_value(pg_class.oid) + seqincrement, seqmax), seqstart)::text as next,
         has_sequence_privilege(pg_class.oid, 'usage') or has_sequence_privilege(pg_class.oid, 'select') as "isReadable"
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace join pg_sequence on seqrelid = pg_class.oid
   order by nspname, relname`

interface FoundSequence extends SequenceState {
  readonly sql: string
  readonly owners: readonly string[]
  readonly isReadable: boolean
}

/** Reads the tables and sequences of the database, and which of them the migrations of the sets create. */
export async function readCatalog(client: Client, sets: readonly MigrationSet[]): Promise<Catalog> {
  const known = await knownRelations(sets)
  const isKnown = ({ schema, name }: RelationName) =>
    known.some((relation) => relation.name === name && relation.schema === schema)
  // The ledgers stand in the header of a backup.
  const isApart = ({ schema, name }: RelationName) =>
    schema === null && [CHANNEL, LEDGER, ...sets.map(({ table }) => table)].includes(name)
  const schema = (await client.query<{ schema: string }>('select current_schema() as schema')).rows[0]?.schema
  const hasOwnSchema = (relation: RelationName) =>
    relation.schema === null && known.some(({ schema: of, name }) => of === schema && name === relation.name)
  const belongs = (relation: RelationName) => isKnown(relation) || hasOwnSchema(relation)

  const all = (await client.query<KnownTable>(TABLES)).rows.filter((table) => !isApart(table))
  const tables = inLoadingOrder(all.filter(belongs))
  const oids = new Set(tables.map(({ oid }) => oid))
  const sequences = (await client.query<FoundSequence>(SEQUENCES)).rows.filter(
    (sequence) => sequence.owners.some((oid) => oids.has(oid)) || belongs(sequence),
  )
  // Without the privilege, its next value would look like the first one.
  const hidden = sequences.find(({ isReadable }) => !isReadable)
  if (hidden !== undefined)
    throw new DatabaseRefused(
      `The role may not read the sequence ${hidden.sql}. Run as its owner: grant select on sequence ${hidden.sql} to the role of DATABASE_URL;`,
    )
  return { tables, sequences, others: all.filter((table) => !belongs(table)).map(qualifiedName) }
}

/** Throws `DatabaseRefused` when the database has a table that is neither known nor skipped. */
export function refuseOthers({ others }: Catalog, skip: readonly string[]): void {
  const isSkipped = (name: string) => skip.includes(name) || skip.includes(name.replace(/[^.]*$/, '*'))
  const refused = others.filter((name) => !isSkipped(name))
  if (refused.length === 0) return
  throw new DatabaseRefused(
    `No migration of this program creates ${refused.join(', ')}, so a backup would lack ${refused.length === 1 ? 'its' : 'their'} rows. Leave out each with --skip: ${refused.map((name) => `--skip ${name}`).join(' ')}`,
  )
}

/** Returns the name for messages and options: without a schema for a table beside those of Latchkey. */
export function qualifiedName({ schema, name }: RelationName): string {
  return schema === null ? name : `${schema}.${name}`
}

/** Each table after those that it refers to. Tables that refer to each other keep their order. */
function inLoadingOrder(tables: readonly KnownTable[]): readonly KnownTable[] {
  const ordered = new Set<KnownTable>()
  const visited = new Set<KnownTable>()
  const visit = (table: KnownTable) => {
    if (visited.has(table)) return
    visited.add(table)
    for (const other of tables) if (table.refersTo.includes(other.oid)) visit(other)
    ordered.add(table)
  }
  tables.forEach(visit)
  return [...ordered]
}
