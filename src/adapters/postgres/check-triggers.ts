import { SELECT_TRIGGER_STATE, triggerStateOf } from './announcing/trigger-state.ts'
import { DatabaseRefused } from './database-refused.ts'
import { withDirectClient } from './direct-client.ts'

/** Throws `DatabaseRefused` where a change of a token or a customer would not be announced to all instances. */
export async function checkTriggers(url: string): Promise<void> {
  const { rows } = await withDirectClient(url, (client) => client.query(SELECT_TRIGGER_STATE.text))
  const { problems } = triggerStateOf(rows[0].triggers)
  if (problems.length > 0)
    throw new DatabaseRefused(`Revocations would not be announced. ${problems.join(' ')}`)
}
