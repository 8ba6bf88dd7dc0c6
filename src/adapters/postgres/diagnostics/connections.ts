import { type CheckResult, checkFailed, checkPassed } from '../../../lib/check-result.ts'
import { withDirectClient } from '../connection/direct-client.ts'

const LIMITS = `
  select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as server,
         (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user and not rolsuper) as role,
         (select nullif(datconnlimit, -1) from pg_database where datname = current_database()
             and not (select rolsuper from pg_roles where rolname = current_user)) as database`

/** Checks that the limits of the server, the role and the database allow the connections that one instance opens. */
export async function connectionLimits(url: string, needed: number, queryMs: number): Promise<CheckResult> {
  const { server, role, database } = await withDirectClient(
    url,
    async (client) => (await client.query(LIMITS)).rows[0],
    queryMs,
  )
  const most = Math.min(server, role ?? server, database ?? server)
  const limiter = most === server ? 'server' : most === role ? 'role' : 'database'
  const instances = Math.floor(most / needed)
  const facts = { needed, most, instances }
  const message = `An instance opens up to ${needed} connections, and the ${limiter} allows ${most}: enough for ${instances}.`
  if (instances > 0) return checkPassed('database.connections', message, facts)
  return checkFailed(
    'database.connections',
    limiter === 'server' ? 'warning' : 'failure',
    message,
    `Lower DATABASE_POOL_MAX or WORKERS, or raise ${limiter === 'server' ? 'max_connections' : `the connection limit of the ${limiter}`}.`,
    facts,
  )
}
