import { DatabaseRefused } from '../connection/database-refused.ts'
import { withDirectClient } from '../connection/direct-client.ts'
import { serverFaults } from '../connection/server-faults.ts'
import { TRIGGER_PROBLEMS } from '../revocation/trigger-state.ts'

/**
 * Throws `DatabaseRefused` for a server that breaks the service's guarantees: one that is too old, a standby, not in
 * UTF-8, or one that loses commits in a crash. Returns warnings about settings that the role cannot change, and about
 * standbys to which a failover would lose acknowledged revocations.
 */
export async function checkServer({ url }: { readonly url: string }): Promise<readonly string[]> {
  const faults = await withDirectClient(url, serverFaults)
  const fatal = faults.find(({ isFatal }) => isFatal)
  if (fatal !== undefined) throw new DatabaseRefused(fatal.sentence)
  return faults.map(({ sentence }) => sentence)
}

/** Throws `DatabaseRefused` when the triggers would not publish every change of a token or a customer to all instances. */
export async function checkTriggers(url: string): Promise<void> {
  const { rows } = await withDirectClient(url, (client) =>
    client.query<{ problems: readonly string[] }>(`select array(${TRIGGER_PROBLEMS}) as problems`),
  )
  const problems = rows.flatMap((row) => row.problems)
  if (problems.length > 0)
    throw new DatabaseRefused(`Revocations would not reach the other instances. ${problems.join(' ')}`)
}
