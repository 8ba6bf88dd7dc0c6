import type { Statement } from '../connection/session.ts'
import { TRIGGER_PROBLEMS } from '../revocation/trigger-state.ts'
import { IS_NEWER_SCHEMA } from '../schema-note.ts'

/** A condition that the database must meet for requests to succeed. */
export interface ServiceCheck {
  /** Its name in `/readyz`; in `doctor` it has the prefix `database.`. Never renamed. */
  readonly name: string
  /** A read-only query that returns a sentence for each problem, for the role and the settings of its session. */
  readonly problems: string
  /** What the operator can do about the problems. */
  readonly hint: string
}

/** The conditions, in the order in which they are reported. */
export const SERVICE_CHECKS: readonly ServiceCheck[] = [
  {
    name: 'writable',
    problems: `
      select 'The database accepts no changes: default_transaction_read_only is on, or it is a standby.'
       where current_setting('transaction_read_only') = 'on'`,
    hint: 'Turn the setting off for the role and the database, or set DATABASE_URL to the primary.',
  },
  {
    name: 'schema',
    problems: `
      select format('The role finds no table %s through the search_path %s.', name, current_setting('search_path'))
        from unnest(array['customers', 'login_tokens', 'one_time_tokens', 'login_attempts', 'login_attempts_secret']) as name
       where to_regclass(name) is null
       union all
      select format('The role finds no function %s through the search_path %s.', name, current_setting('search_path'))
        from unnest(array['latchkey_take_login_slot', 'latchkey_settle_login_slot', 'latchkey_login_keys', 'latchkey_login_row',
                          'latchkey_say', 'latchkey_send', 'latchkey_listen_as']) as name
       where to_regproc(name) is null`,
    hint: 'Grant usage on this schema to the role, or move the table or function into the schema of the table latchkey_migrations.',
  },
  {
    name: 'grants',
    problems: `
      select format('The role has no %s privilege on the table %s.', privilege, name)
        from (values ('customers', array['select', 'update']),
                     ('login_tokens', array['select', 'insert', 'update']),
                     ('one_time_tokens', array['select', 'insert', 'update', 'delete']),
                     ('login_attempts', array['select', 'insert', 'update']),
                     ('login_attempts_secret', array['select'])) as needed (name, privileges),
             unnest(privileges) as privilege
       where case privilege
               -- A privilege of tables only.
               when 'delete' then not has_table_privilege(to_regclass(name), privilege)
               else not has_any_column_privilege(to_regclass(name), privilege)
             end
       union all
      select format('The role has no execute privilege on the function %s.', name)
        from unnest(array['latchkey_take_login_slot', 'latchkey_settle_login_slot', 'latchkey_login_keys', 'latchkey_login_row',
                          'latchkey_say', 'latchkey_send', 'latchkey_listen_as']) as name
       where not has_function_privilege(to_regproc(name), 'execute')`,
    hint: 'Grant these privileges to the role in DATABASE_URL.',
  },
  {
    name: 'indexes',
    problems: `
      select format('The unique index %s of the table %s is missing or invalid.', index_name, table_name)
        from (values ('customers', 'customers_pkey'), ('customers', 'customers_email_key'),
                     ('login_tokens', 'login_tokens_pkey'), ('login_tokens', 'login_tokens_token_hash_key'),
                     ('login_tokens', 'login_tokens_one_login_key'),
                     ('one_time_tokens', 'one_time_tokens_pkey'), ('one_time_tokens', 'one_time_tokens_token_hash_key'),
                     ('login_attempts', 'login_attempts_pkey')) as needed (table_name, index_name)
       where to_regclass(table_name) is not null and not ${IS_NEWER_SCHEMA}
         and not exists (
           select from pg_index join pg_class on pg_class.oid = indexrelid
            where indrelid = to_regclass(table_name) and relname = index_name and indisunique and indisvalid)`,
    hint: 'Create the index again, as the migrations in the folder sql do.',
  },
  {
    name: 'triggers',
    problems: TRIGGER_PROBLEMS,
    hint: 'Until then no instance caches a validation, and no service starts. The migrations in the folder sql create what is missing.',
  },
]

/** Returns the problems of all checks: a row with `name` and `problem` for each. */
export const FIND_PROBLEMS: Statement = {
  name: 'find_problems',
  text: SERVICE_CHECKS.map(
    ({ name, problems }) => `select '${name}' as name, problem from (${problems}) as ${name} (problem)`,
  ).join(' union all '),
}
