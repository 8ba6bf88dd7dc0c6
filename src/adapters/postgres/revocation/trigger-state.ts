import { IS_NEWER_SCHEMA } from '../schema-note.ts'

/** The state of the triggers that publish changes, as one statement found it. */
export interface TriggerState {
  /**
   * Changes whenever one of the tables, triggers or functions was replaced, enabled or disabled, even if it was restored:
   * changes made meanwhile may not have been published.
   */
  readonly fingerprint: string
  /** The problems of the triggers, in sentences for the operator; empty when every change is published. */
  readonly problems: readonly string[]
}

/** Table, trigger, when it fires (A: always, R: at replication), function, and the MD5 of its body in `sql/`. */
const TRIGGERS = `
  values ('customers', 'publish_update', 'A', 'latchkey_publish_updated_customers', '1b268ab579733184ca070055e6debdc8'),
         ('customers', 'publish_delete', 'A', 'latchkey_publish_deleted_customers', 'd3090a8c4f79cbbba8cef138478bb702'),
         ('customers', 'publish_truncate', 'A', 'latchkey_publish_truncation', '025d0db8e1298bbb52cf01537e86ff2e'),
         ('customers', 'publish_replicated', 'R', 'latchkey_publish_replicated_customer', 'a7aa847f5b4bbf3869e35d2cd415af84'),
         ('login_tokens', 'publish_update', 'A', 'latchkey_publish_updated_tokens', '79e194f08bd67b225fc273f85840fb3f'),
         ('login_tokens', 'publish_delete', 'A', 'latchkey_publish_deleted_tokens', 'cb377eedc3d9111d051c6dcbcc6417b1'),
         ('login_tokens', 'publish_truncate', 'A', 'latchkey_publish_truncation', '025d0db8e1298bbb52cf01537e86ff2e'),
         ('login_tokens', 'publish_replicated', 'R', 'latchkey_publish_replicated_token', '6d8bca23490b069104acf60416ce9814')`

/** The functions that those of the triggers call, and those by which instances exchange messages. */
const FUNCTIONS = `
  values ('latchkey_publish', 'cb5bbf104aa23f0f4353cb9ee6212ab7'),
         ('latchkey_say', '3621af162536d56788f9008a58150d96'),
         ('latchkey_listen', 'b05008405d5cd8e4cb1f47f6952d31d3'),
         ('latchkey_own_channel', 'bfb49f33a121f85060c0ff0d2b47cc88'),
         ('latchkey_send', 'd35a84edd4bf23cb6e4edd2d058cf6e9'),
         ('latchkey_listen_as', '8a63372ef1d4b4c69d53b8264d68ee6a'),
         ('latchkey_is_token_changed', 'df779a4068ccd59c44d2126386d894ec'),
         ('latchkey_is_customer_changed', '9988736e1b3d37d2a17e06296c60a2e7')`

/** Without carriage returns, which an editor may have added to the file. */
const BODY = "md5(replace(prosrc, chr(13), ''))"

/** A read-only query that returns a sentence for each problem. */
export const TRIGGER_PROBLEMS = `
  select case
           when tgenabled is null then format('The trigger %s on %s is missing.', trigger, of_table)
           when tgenabled <> fires::"char" then
             format('The trigger %1$s on %2$s does not fire as it must. Run: alter table %2$s enable %3$s trigger %1$s;',
                    trigger, of_table, case fires when 'A' then 'always' else 'replica' end)
           else format('The function %s of the trigger %s on %s does not match this version.', proname, trigger, of_table)
         end
    from (${TRIGGERS}) as expected (of_table, trigger, fires, function, body)
    left join pg_trigger on tgrelid = to_regclass(of_table) and tgname = trigger
    left join pg_proc on pg_proc.oid = tgfoid
   where tgenabled is distinct from fires::"char"
      or (proname, ${BODY}) is distinct from (function::name, body) and not ${IS_NEWER_SCHEMA}
   union all
  select format('The function %s is missing or does not match this version.', name)
    from (${FUNCTIONS}) as expected (name, body)
    left join pg_proc on proname = name and pg_function_is_visible(oid)
   where pg_proc.oid is null or ${BODY} is distinct from body and not ${IS_NEWER_SCHEMA}
   union all
  select format('Any role may create functions in the schema %1$I, and those of the triggers would call them. Run as its owner: revoke create on schema %1$I from public;',
                current_schema())
   where has_schema_privilege('public', current_schema(), 'create')`

const TABLES = "(to_regclass('login_tokens'), to_regclass('customers'))"

/**
 * An expression that returns the fingerprint. It is read with each acknowledgement, so it costs only a few index scans.
 * `xmin` changes with every change of a row in the catalog (PostgreSQL, section 5.5), also when a trigger is disabled and
 * enabled again. A trigger that calls another function has a new row itself.
 */
export const TRIGGER_FINGERPRINT = `
  array(select xmin from pg_class where oid in ${TABLES})::text ||
  array(select xmin from pg_trigger where tgrelid in ${TABLES})::text ||
  array(select xmin from pg_proc
         where proname >= 'latchkey_is' and proname < 'latchkey_t'
           and pronamespace = (select relnamespace from pg_class where oid = to_regclass('login_tokens')))::text`
