import type { Client } from 'pg'

const OLDEST_MAJOR = 13

// A pooler may reuse a session in which this service has pinned synchronous_commit; `reset_val` is its value before.
const FACTS = `
  select current_setting('server_version_num')::int / 10000 as major,
         current_setting('server_encoding') as encoding,
         current_setting('fsync') as fsync,
         (select reset_val from pg_settings where name = 'synchronous_commit') as synchronous_commit,
         current_setting('synchronous_standby_names') as synchronous_standby_names,
         (select count(*) from pg_stat_replication
           where pid not in (select active_pid from pg_replication_slots
                              where slot_type = 'logical' and active_pid is not null))::int as standbys,
         pg_is_in_recovery() as is_standby,
         (select rolsuper from pg_roles where rolname = current_user) as owns_settings`

const NO_SYNCHRONOUS_STANDBY =
  'A standby follows, and no commit waits for it: a failover to it would restore tokens that were revoked shortly before. Set synchronous_standby_names.'

const LOCAL_COMMIT =
  'The setting synchronous_commit is local: a failover would restore revoked tokens, because no commit waits for the synchronous standby. Set it to on.'

/** A setting or property of a server that breaks the service's guarantees, at once or in a failover. */
export interface ServerFault {
  /** Whether the service refuses to start with it. */
  readonly isFatal: boolean
  readonly sentence: string
}

/** Returns every fault of the server of a connection. */
export async function serverFaults(client: Client): Promise<readonly ServerFault[]> {
  const facts = (await client.query(FACTS)).rows[0]
  const { major, encoding, fsync, synchronous_commit, is_standby, owns_settings } = facts
  const fatal: string[] = []
  const warnings = standbyWarnings(facts)

  if (major < OLDEST_MAJOR) fatal.push(`PostgreSQL ${major} is too old: ${OLDEST_MAJOR} or newer is needed.`)
  if (encoding !== 'UTF8') fatal.push(`The database's encoding is ${encoding}: UTF8 is needed.`)
  if (is_standby) fatal.push('The database is a standby: the address of the primary is needed.')
  if (synchronous_commit === 'off') {
    fatal.push(
      'The setting synchronous_commit is off: a crash would bring revoked tokens back. Set it to on.',
    )
  }
  if (fsync === 'off') {
    const sentence = 'The setting fsync is off: a crash would bring revoked tokens back.'
    if (owns_settings) fatal.push(`${sentence} Set it to on.`)
    else warnings.push(sentence)
  }
  return [
    ...fatal.map((sentence) => ({ isFatal: true, sentence })),
    ...warnings.map((sentence) => ({ isFatal: false, sentence })),
  ]
}

function standbyWarnings({
  synchronous_standby_names,
  synchronous_commit,
  standbys,
}: Record<string, unknown>): string[] {
  const isSynchronous = synchronous_standby_names !== ''
  if (!isSynchronous && standbys !== 0) return [NO_SYNCHRONOUS_STANDBY]
  return isSynchronous && synchronous_commit === 'local' ? [LOCAL_COMMIT] : []
}
