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

/** Table, trigger, function, and the MD5 of the function's body in `sql/` without carriage returns. */
const TRIGGERS = `
  values ('customers', 'announce_update', 'latchkey_announce_updated_customers', '3740e9e70317083aca98748302f764e2'),
         ('customers', 'announce_delete', 'latchkey_announce_deleted_customers', '565d2f4f1f43445a986302f6abb76d50'),
         ('customers', 'announce_truncate', 'latchkey_announce_truncation', 'aab277f6a187f42896e568a4a3b0b295'),
         ('login_tokens', 'announce_update', 'latchkey_announce_updated_tokens', 'c73d158e1c224d2b805df401a15eeca5'),
         ('login_tokens', 'announce_delete', 'latchkey_announce_deleted_tokens', '287c1fdef69c51bc08dd98c28ca70141'),
         ('login_tokens', 'announce_truncate', 'latchkey_announce_truncation', 'aab277f6a187f42896e568a4a3b0b295')`
/** The function that all of them call. */
const ANNOUNCE = 'latchkey_announce(text, text[])'
const ANNOUNCE_BODY = '0f860c426e1b730d0086aad29f30abb8'

const BODY = "md5(replace(prosrc, chr(13), ''))"

/** A read-only query that returns a sentence for each problem. */
export const TRIGGER_PROBLEMS = `
  select case
           when tgenabled is null then format('The trigger %s on %s is missing.', trigger, of_table)
           when tgenabled <> 'A' then
             format('The trigger %1$s on %2$s does not always fire. Run: alter table %2$s enable always trigger %1$s;',
                    trigger, of_table)
           else format('The function %s of the trigger %s on %s does not match this version.', proname, trigger, of_table)
         end
    from (${TRIGGERS}) as expected (of_table, trigger, function, body)
    left join pg_trigger on tgrelid = to_regclass(of_table) and tgname = trigger
    left join pg_proc on pg_proc.oid = tgfoid
   where (tgenabled, proname, ${BODY}) is distinct from ('A'::"char", function::name, body)
   union all
  select 'The function ${ANNOUNCE} is missing or does not match this version.'
   where not exists (
     select from pg_proc where oid = to_regprocedure('${ANNOUNCE}') and ${BODY} = '${ANNOUNCE_BODY}')`

const TABLES = "(to_regclass('login_tokens'), to_regclass('customers'))"

/**
 * An expression that returns the fingerprint. It is read with each acknowledgement, so it costs only three index scans.
 * `xmin` changes with every change of a row in the catalog (PostgreSQL, section 5.5), also when a trigger is disabled and
 * enabled again. A trigger that calls another function has a new row itself.
 */
export const TRIGGER_FINGERPRINT = `
  array(select xmin from pg_class where oid in ${TABLES})::text ||
  array(select xmin from pg_trigger where tgrelid in ${TABLES})::text ||
  array(select xmin from pg_proc where proname >= 'latchkey_announce' and proname < 'latchkey_announcf')::text`
