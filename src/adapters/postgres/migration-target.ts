import type { Client } from 'pg'
import { DatabaseRefused } from './connection/database-refused.ts'
import { FIND_SCHEMAS } from './connection/schema.ts'

/** Where a set of migrations is applied, as the role of a connection sees it. Names are quoted for SQL. */
export interface MigrationTarget {
  readonly role: string
  readonly schema: string
  /** The name of the schema without quotes. */
  readonly schemaName: string
  /** The table of the applied migrations; null before the first migration. */
  readonly ledger: string | null
  readonly may: {
    /** Whether the schema exists and the role may look up its tables. */
    readonly use: boolean
    readonly create: boolean
    readonly readLedger: boolean
    /** Whether the role may change the tables; true before the first migration. */
    readonly own: boolean
  }
  readonly owner: string | null
}

const TARGET = `
  select quote_ident(current_user) as role, schema, (parse_ident(schema))[1] as "schemaName",
         schema || '.' || quote_ident(relname) as ledger,
         json_build_object(
           'use', coalesce(has_schema_privilege(to_regnamespace(schema), 'usage'), false),
           'create', coalesce(has_schema_privilege(to_regnamespace(schema), 'create'), false),
           'readLedger', coalesce(has_table_privilege(pg_class.oid, 'select'), true),
           'own', coalesce(pg_has_role(relowner, 'usage'), true)) as may,
         relowner::regrole::text as owner
    from (select coalesce(schemas[1], 'public') as schema from (${FIND_SCHEMAS}) as found) as target
    left join pg_class on relnamespace = to_regnamespace(schema) and relname = $1`

/** Returns the target of the set with this table. Throws `DatabaseRefused` when the role cannot read its state. */
export async function readTarget(client: Client, table: string): Promise<MigrationTarget> {
  const target: MigrationTarget = (await client.query(TARGET, [table])).rows[0]
  const { role, schema, ledger, may } = target
  if (!may.use)
    throw new DatabaseRefused(
      `The schema ${schema} does not exist, or the role ${role} may not use it. Run as a superuser: create schema if not exists ${schema}; grant usage, create on schema ${schema} to ${role};`,
    )
  if (ledger !== null && !may.readLedger)
    throw new DatabaseRefused(
      `The role ${role} may not read the table ${ledger}. Run as its owner: grant select on ${ledger} to ${role};`,
    )
  return target
}

/** Throws `DatabaseRefused` when the role may not apply migrations. */
export function requireOwner({ role, schema, ledger, may, owner }: MigrationTarget): void {
  if (!may.own)
    throw new DatabaseRefused(
      `The role ${role} does not own the table ${ledger}. Run the command migrate as its owner, ${owner}, and the service with MIGRATE=off.`,
    )
  if (!may.create)
    throw new DatabaseRefused(
      `The role ${role} may not create tables in the schema ${schema}. Run as the owner of the schema: grant create on schema ${schema} to ${role};`,
    )
}

/**
 * Throws `DatabaseRefused` when a table that the first migration creates exists before it (`isEmpty`), or when the tables
 * are in another schema than the ledger.
 */
export async function requireOwnTables(
  client: Client,
  { schema, ledger }: MigrationTarget,
  isEmpty: boolean,
): Promise<void> {
  const { rows } = await client.query<{ name: string; schema: string }>(`
    select relname as name, relnamespace::regnamespace::text as schema from pg_class
     where relname in ('customers', 'login_tokens') and relpersistence <> 't'
     order by relname, schema`)
  const here = rows.filter((row) => row.schema === schema)
  if (isEmpty && here.length > 0)
    throw new DatabaseRefused(
      `The schema ${schema} contains a table ${here[0]?.name} that is not Latchkey's. Set DATABASE_URL to another database, or rename the table.`,
    )
  const elsewhere = rows.find(({ name }) => name === 'login_tokens')
  if (!isEmpty && !here.some(({ name }) => name === 'login_tokens') && elsewhere !== undefined)
    throw new DatabaseRefused(
      `The table login_tokens is in the schema ${elsewhere.schema}, and the list of migrations is ${ledger}. Run as its owner: alter table ${ledger} set schema ${elsewhere.schema};`,
    )
}
