import { DatabaseRefused } from '../connection/database-refused.ts'
import { withDirectClient } from '../connection/direct-client.ts'
import { serverFaults } from '../connection/server-faults.ts'
import { TRIGGER_PROBLEMS } from '../revocation/trigger-state.ts'

/**
 * Throws `DatabaseRefused` for a server that would break what the service promises: one that is too old, a standby,
 * not in UTF-8, or one that forgets commits when it crashes. Answers warnings: about what the role cannot change, and
 * about standbys that a failover would lose acknowledged revocations to.
 */
export async function checkServer({ url }: { readonly url: string }): Promise<readonly string[]> {
  const faults = await withDirectClient(url, serverFaults)
  const fatal = faults.find(({ isFatal }) => isFatal)
  if (fatal !== undefined) throw new DatabaseRefused(fatal.sentence)
  return faults.map(({ sentence }) => sentence)
}

/** Throws `DatabaseRefused` where a change of a token or a customer would not be announced to all instances. */
export async function checkTriggers(url: string): Promise<void> {
  const { rows } = await withDirectClient(url, (client) =>
    client.query<{ problems: readonly string[] }>(`select array(${TRIGGER_PROBLEMS}) as problems`),
  )
  const problems = rows.flatMap((row) => row.problems)
  if (problems.length > 0)
    throw new DatabaseRefused(`Revocations would not be announced. ${problems.join(' ')}`)
}
