import type { ClientBase } from 'pg'
import { FIND_SCHEMAS, PINNED_SETTINGS, requireOneSchema } from './schema.ts'
import type { Session } from './session.ts'

// The server cancels a little before the caller's timeout, which saves the connection. A pooler refuses these settings at
// start-up, and loses them later in transaction mode: the timer of this process is what bounds a wait. The value of
// synchronous_commit is pinned, so that an operator cannot turn it off for open connections: a crash would then lose
// acknowledged revocations.
const SET_UP = {
  name: 'set_up_session',
  text: `
    select ${PINNED_SETTINGS},
           set_config('statement_timeout', '900ms', false),
           set_config('lock_timeout', '800ms', false),
           set_config('idle_in_transaction_session_timeout', '2s', false),
           set_config('datestyle', 'ISO', false),
           set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), false),
           pg_is_in_recovery() as is_standby, schemas
      from (${FIND_SCHEMAS}) as found`,
}

/**
 * Applies the settings of this service to a new session of the pool. Returns whether its server is a standby. Throws
 * `DatabaseRefused` when several schemas contain Latchkey's tables.
 */
export async function prepareSession(session: Session): Promise<{ readonly isStandby: boolean }> {
  const { rows } = await session.query(SET_UP, [])
  requireOneSchema(rows[0]?.schemas)
  return { isStandby: rows[0]?.is_standby !== false }
}

/**
 * Applies the settings that every connection needs to a new connection outside the pool. Throws `DatabaseRefused` when
 * several schemas contain Latchkey's tables.
 */
export async function prepareClient(client: ClientBase): Promise<void> {
  const { rows } = await client.query(`select ${PINNED_SETTINGS}, schemas from (${FIND_SCHEMAS}) as found`)
  requireOneSchema(rows[0]?.schemas)
}
