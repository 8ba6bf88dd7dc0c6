import { type CheckResult, checkFailed, checkPassed } from '../../../lib/check-result.ts'
import { withDirectClient } from '../connection/direct-client.ts'
import { sqlState } from '../connection/sql-state.ts'
import { FIND_PROBLEMS, SERVICE_CHECKS } from './service-checks.ts'

/** The smallest free space on the server's disk, in KiB. */
const MIN_FREE_KB = 1024

/**
 * Checks every condition of `SERVICE_CHECKS` as the role of the service; returns a result for each. Less than 1 MiB of
 * free space on the server's disk counts as not writable; a temporary table tests it and is rolled back. With `isPooled`,
 * the role itself needs the right `search_path`, because a transaction pooler assigns connections that have no other.
 */
export function serviceConditions(
  url: string,
  queryMs: number,
  isPooled: boolean,
): Promise<readonly CheckResult[]> {
  return withDirectClient(
    url,
    async (client) => {
      const { rows } = await client.query<{ name: string; problem: string }>(FIND_PROBLEMS.text)
      if (await isDiskFull()) rows.push({ name: 'writable', problem: 'The disk of the server is full.' })
      if (isPooled) rows.push(...(await findPoolerProblems()))
      return SERVICE_CHECKS.map(({ name, hint }) => {
        const problems = rows.filter((row) => row.name === name).map(({ problem }) => problem)
        return problems.length === 0
          ? checkPassed(`database.${name}`, PASSED_MESSAGES[name] ?? 'No problem was found.')
          : checkFailed(`database.${name}`, 'failure', problems.join(' '), hint)
      })

      async function findPoolerProblems(): Promise<{ name: string; problem: string }[]> {
        const pinned = await client.query("select current_setting('search_path') as path")
        await client.query('begin; set local search_path to default')
        const found = await client.query(FOUND_BY_DEFAULT, [
          `${pinned.rows[0].path}`.replace(/, pg_temp$/, ''),
        ])
        await client.query('rollback')
        return found.rows
      }

      async function isDiskFull(): Promise<boolean> {
        try {
          await client.query('begin read write')
          await client.query('create temporary table latchkey_disk_check (block text) on commit drop')
          await client.query('alter table latchkey_disk_check alter column block set storage plain')
          await client.query(
            `insert into latchkey_disk_check select repeat('x', 8000) from generate_series(1, ${MIN_FREE_KB / 8})`,
          )
          return false
        } catch (error) {
          // A role that may not create temporary tables skips this check; the service logs a full disk.
          return sqlState(error) === '53100'
        } finally {
          await client.query('rollback')
        }
      }
    },
    queryMs,
  )
}

const FOUND_BY_DEFAULT = `
  select 'schema' as name,
         format('Behind a transaction pooler the role needs the search_path itself. Run: alter role %I in database %I set search_path = %s, pg_temp;',
                current_user, current_database(), $1::text) as problem
   where to_regclass('login_tokens') is distinct from to_regclass($1 || '.login_tokens')`

const PASSED_MESSAGES: Readonly<Record<string, string>> = {
  writable: 'It accepts changes.',
  schema: 'The role finds the tables and functions.',
  grants: 'The role has the privileges that requests need.',
  indexes: 'Every unique index exists and is valid.',
  triggers: 'Every change of a token or a customer is published to all instances.',
}
