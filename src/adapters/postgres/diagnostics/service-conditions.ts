import { type CheckResult, checkFailed, checkPassed } from '../../../lib/check-result.ts'
import { withDirectClient } from '../connection/direct-client.ts'
import { sqlState } from '../connection/sql-state.ts'
import { FIND_PROBLEMS, SERVICE_CHECKS } from './service-checks.ts'

/** So much room an instance should find at least. */
const ROOM_KB = 1024

/**
 * Examines, as the role of the service, every condition without which requests fail: a finding for each. Less than a
 * mebibyte of room on the server's disk counts as not writable; a temporary table that is rolled back finds it out.
 */
export function serviceConditions(url: string, queryMs: number): Promise<readonly CheckResult[]> {
  return withDirectClient(
    url,
    async (client) => {
      const { rows } = await client.query<{ name: string; problem: string }>(FIND_PROBLEMS.text)
      if (await isDiskFull()) rows.push({ name: 'writable', problem: 'The disk of the server is full.' })
      return SERVICE_CHECKS.map(({ name, hint }) => {
        const problems = rows.filter((row) => row.name === name).map(({ problem }) => problem)
        return problems.length === 0
          ? checkPassed(`database.${name}`, FINE[name] ?? 'It is as it should be.')
          : checkFailed(`database.${name}`, 'failure', problems.join(' '), hint)
      })

      async function isDiskFull(): Promise<boolean> {
        try {
          await client.query('begin read write')
          await client.query('create temporary table latchkey_room (block text) on commit drop')
          await client.query('alter table latchkey_room alter column block set storage plain')
          await client.query(
            `insert into latchkey_room select repeat('x', 8000) from generate_series(1, ${ROOM_KB / 8})`,
          )
          return false
        } catch (error) {
          // Whoever may create no temporary table learns of a full disk from the log of the service.
          return sqlState(error) === '53100'
        } finally {
          await client.query('rollback')
        }
      }
    },
    queryMs,
  )
}

const FINE: Readonly<Record<string, string>> = {
  writable: 'It accepts changes.',
  schema: 'The search_path of the role contains the tables and functions.',
  grants: 'The role has the privileges that requests need.',
  indexes: 'Every unique index is there and valid.',
  triggers: 'Every change of a token or a customer is announced.',
}
