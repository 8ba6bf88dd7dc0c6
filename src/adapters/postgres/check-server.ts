import { DatabaseRefused } from './database-refused.ts'
import { withDirectClient } from './direct-client.ts'
import { serverFaults } from './server-faults.ts'

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
