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

/** The function behind each trigger. */
const TRIGGERS: Readonly<Record<string, string>> = {
  'customers.announce_delete': 'latchkey_announce_deleted_customers',
  'customers.announce_truncate': 'latchkey_announce_truncation',
  'customers.announce_update': 'latchkey_announce_updated_customers',
  'login_tokens.announce_delete': 'latchkey_announce_deleted_tokens',
  'login_tokens.announce_truncate': 'latchkey_announce_truncation',
  'login_tokens.announce_update': 'latchkey_announce_updated_tokens',
}

/** MD5 of each function's body in `sql/`, without carriage returns. */
const BODIES: Readonly<Record<string, string>> = {
  latchkey_announce: '0f860c426e1b730d0086aad29f30abb8',
  latchkey_announce_deleted_customers: '565d2f4f1f43445a986302f6abb76d50',
  latchkey_announce_deleted_tokens: '287c1fdef69c51bc08dd98c28ca70141',
  latchkey_announce_truncation: 'aab277f6a187f42896e568a4a3b0b295',
  latchkey_announce_updated_customers: '3740e9e70317083aca98748302f764e2',
  latchkey_announce_updated_tokens: 'c73d158e1c224d2b805df401a15eeca5',
}

/**
 * A scalar subquery that returns the state as text, for `triggerStateOf`. `xmin` changes with every change of a row of
 * the catalog (PostgreSQL, section 5.5), so that a trigger that was disabled and enabled again differs.
 */
export const TRIGGER_STATE = `(
  select coalesce(string_agg(part, E'\\n' order by part), '') from (
    select concat_ws(' ', relname || '.' || tgname, tgenabled, proname, md5(replace(prosrc, chr(13), '')),
                     pg_class.oid, pg_class.xmin, pg_trigger.oid, pg_trigger.xmin, pg_proc.oid, pg_proc.xmin) as part
      from pg_trigger
      join pg_class on pg_class.oid = tgrelid
      join pg_proc on pg_proc.oid = tgfoid
     where tgrelid = any(array[to_regclass('login_tokens')::oid, to_regclass('customers')::oid])
       and not tgisinternal and tgname in ('announce_update', 'announce_delete', 'announce_truncate')
    union all
    select concat_ws(' ', 'function', 'A', proname, md5(replace(prosrc, chr(13), '')), oid, xmin)
      from pg_proc
     where oid = to_regprocedure('latchkey_announce(text, text[])')) as parts)`

/** The same as a statement of its own, in the column `triggers`. */
export const SELECT_TRIGGER_STATE = { name: 'trigger_state', text: `select ${TRIGGER_STATE} as triggers` }

/** Reads what `TRIGGER_STATE` returned. */
export function triggerStateOf(fingerprint: string): TriggerState {
  return { fingerprint, problems: [...problemsIn(fingerprint)] }
}

function* problemsIn(fingerprint: string): Generator<string> {
  const found = new Map(fingerprint.split('\n').map((line) => [line.split(' ')[0] ?? '', line.split(' ')]))
  for (const [key, expected] of [...Object.entries(TRIGGERS), ['function', 'latchkey_announce'] as const]) {
    const [table, name] = key.split('.')
    const [, enabled, callee = '', body] = found.get(key) ?? []
    if (enabled === undefined) {
      yield key === 'function'
        ? `The function ${expected} is missing.`
        : `The trigger ${name} on ${table} is missing.`
    } else if (enabled !== 'A') {
      yield `The trigger ${name} on ${table} does not always fire. Run: alter table ${table} enable always trigger ${name};`
    } else if (callee !== expected || body !== BODIES[expected]) {
      yield `The function ${callee} does not announce what this version expects.`
    }
  }
}
