import { DatabaseRefused } from './database-refused.ts'

/** The table that lists the applied migrations of Latchkey. The schema that contains it is the schema of all tables. */
export const LEDGER = 'latchkey_migrations'

/**
 * A query that returns the schemas with a ledger as `schemas`, in order, each quoted where necessary. Another role may
 * have created a table of this name, so a ledger of the database's owner, a superuser or this role takes precedence.
 */
export const FIND_SCHEMAS = `
  select array(
    select schema from (
      select relnamespace::regnamespace::text as schema,
             rank() over (order by pg_has_role(relowner, 'member') or relowner = datdba or rolsuper desc) as precedence
        from pg_class join pg_roles on pg_roles.oid = relowner join pg_database on datname = current_database()
       where relname = '${LEDGER}' and relkind in ('r', 'p') and relpersistence <> 't') as ledgers
     where precedence = 1
     order by schema) as schemas`

/**
 * The settings of every connection, whatever those of the role and the database are. Relates to a row with `schemas`.
 * Before the first migration the schema is `public`. The temporary schema comes last, where no session can use it to
 * hide a table.
 */
export const PINNED_SETTINGS = `
  set_config('search_path', coalesce(schemas[1], 'public') || ', pg_temp', false),
  set_config('default_transaction_isolation', 'read committed', false),
  case when current_setting('idle_session_timeout', true) <> '0'
       then set_config('idle_session_timeout', '0', false) end`

/** Throws `DatabaseRefused` when several schemas contain a ledger. */
export function requireOneSchema(schemas: unknown): void {
  if (!Array.isArray(schemas) || schemas.length < 2) return
  throw new DatabaseRefused(
    `The schemas ${schemas.join(', ')} of the database each contain a table ${LEDGER}: only one of them may.`,
  )
}
