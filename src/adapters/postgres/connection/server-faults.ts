import type { Client } from 'pg'

const OLDEST_MAJOR = 13

const FACTS = `
  select current_setting('server_version_num')::int / 10000 as major,
         current_setting('server_encoding') as encoding,
         current_setting('fsync') as fsync,
         current_setting('synchronous_commit') as synchronous_commit,
         current_setting('synchronous_standby_names') as synchronous_standby_names,
         (select count(*) from pg_stat_replication
           where pid not in (select active_pid from pg_replication_slots
                              where slot_type = 'logical' and active_pid is not null))::int as standbys,
         pg_is_in_recovery() as is_standby,
         (select rolsuper from pg_roles where rolname = current_user) as owns_settings`

const ABANDONED =
  'A standby follows, and no commit waits for it: a failover to it would bring tokens back that were revoked shortly before. Set synchronous_standby_names.'

const NO_SESSION_WAITS =
  'The setting synchronous_commit is local: a failover would bring revoked tokens back, as no commit waits for the synchronous standby. Set it to on.'

/** Something about a server that breaks what the service promises, or would in a failover. */
export interface ServerFault {
  /** Whether no service starts on it. */
  readonly isFatal: boolean
  readonly sentence: string
}

/** Everything that is wrong with the server of a connection. */
export async function serverFaults(client: Client): Promise<readonly ServerFault[]> {
  const facts = (await client.query(FACTS)).rows[0]
  const { major, encoding, fsync, synchronous_commit, is_standby, owns_settings } = facts
  const fatal: string[] = []
  const warnings = warningsOfStandbys(facts)

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

function warningsOfStandbys({
  synchronous_standby_names,
  synchronous_commit,
  standbys,
}: Record<string, unknown>): string[] {
  const isSynchronous = synchronous_standby_names !== ''
  if (!isSynchronous && standbys !== 0) return [ABANDONED]
  return isSynchronous && synchronous_commit === 'local' ? [NO_SESSION_WAITS] : []
}
