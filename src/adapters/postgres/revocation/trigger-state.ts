/** The triggers that announce changes, as one statement found them. */
export interface TriggerState {
  /**
   * Another text than before whenever one of the tables, triggers or functions was replaced, enabled or disabled in
   * between, even if it looks the same again: what was changed meanwhile may not have been announced.
   */
  readonly fingerprint: string
  /** What is wrong with them, in sentences for the operator; empty when every change is announced. */
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
/** What all of them call. */
const ANNOUNCE = 'latchkey_announce(text, text[])'
const ANNOUNCE_BODY = '0f860c426e1b730d0086aad29f30abb8'

const BODY = "md5(replace(prosrc, chr(13), ''))"

/** SQL that changes nothing: a row with a sentence for each problem. */
export const TRIGGER_PROBLEMS = `
  select case
           when tgenabled is null then format('The trigger %s on %s is missing.', trigger, of_table)
           when tgenabled <> 'A' then
             format('The trigger %1$s on %2$s does not always fire. Run: alter table %2$s enable always trigger %1$s;',
                    trigger, of_table)
           else format('The function %s of the trigger %s on %s is not that of this version.', proname, trigger, of_table)
         end
    from (${TRIGGERS}) as expected (of_table, trigger, function, body)
    left join pg_trigger on tgrelid = to_regclass(of_table) and tgname = trigger
    left join pg_proc on pg_proc.oid = tgfoid
   where (tgenabled, proname, ${BODY}) is distinct from ('A'::"char", function::name, body)
   union all
  select 'The function ${ANNOUNCE} is missing or not that of this version.'
   where not exists (
     select from pg_proc where oid = to_regprocedure('${ANNOUNCE}') and ${BODY} = '${ANNOUNCE_BODY}')`

const TABLES = "(to_regclass('login_tokens'), to_regclass('customers'))"

/**
 * An expression that returns the fingerprint, read with each acknowledgement and therefore cheap: three scans of an
 * index. `xmin` changes with every change of a row of the catalog (PostgreSQL, section 5.5), so that a trigger that was
 * disabled and enabled again differs. A trigger that calls another function has another row itself.
 */
export const TRIGGER_FINGERPRINT = `
  array(select xmin from pg_class where oid in ${TABLES})::text ||
  array(select xmin from pg_trigger where tgrelid in ${TABLES})::text ||
  array(select xmin from pg_proc where proname >= 'latchkey_announce' and proname < 'latchkey_announcf')::text`
