import { DatabaseRefused } from './database-refused.ts'
import { withDirectClient } from './direct-client.ts'

const OLDEST_MAJOR = 13

const FACTS = `
  select current_setting('server_version_num')::int / 10000 as major,
         current_setting('server_encoding') as encoding,
         current_setting('fsync') as fsync,
         current_setting('synchronous_commit') as synchronous_commit,
         pg_is_in_recovery() as is_standby,
         (select rolsuper from pg_roles where rolname = current_user) as owns_settings`

/**
 * Throws `DatabaseRefused` for a server that would break what the service promises: one that is too old, a standby,
 * not in UTF-8, or one that forgets commits when it crashes. Answers warnings about what the role cannot change.
 */
export async function checkServer({ url }: { readonly url: string }): Promise<readonly string[]> {
  const facts = await withDirectClient(url, async (client) => (await client.query(FACTS)).rows[0])
  const { major, encoding, fsync, synchronous_commit, is_standby, owns_settings } = facts

  if (major < OLDEST_MAJOR) refuse(`PostgreSQL ${major} is too old: ${OLDEST_MAJOR} or newer is needed.`)
  if (encoding !== 'UTF8') refuse(`The database's encoding is ${encoding}: UTF8 is needed.`)
  if (is_standby) refuse('The database is a standby: the address of the primary is needed.')
  if (synchronous_commit === 'off') {
    refuse('The setting synchronous_commit is off: a crash would bring revoked tokens back. Set it to on.')
  }
  if (fsync === 'off') {
    const sentence = 'The setting fsync is off: a crash would bring revoked tokens back.'
    if (owns_settings) refuse(`${sentence} Set it to on.`)
    return [sentence]
  }
  return []
}

function refuse(sentence: string): never {
  throw new DatabaseRefused(sentence)
}
