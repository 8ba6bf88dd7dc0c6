import { type CheckResult, checkFailed, checkPassed } from '../../../lib/check-result.ts'
import { withDirectClient } from '../connection/direct-client.ts'
import { sqlState } from '../connection/sql-state.ts'

/** The errors of a statement that another session has prepared, or that this session lacks. */
const BROKEN = ['26000', '42P05', '0A000']

/** Checks that the transaction pooler in front of the server supports prepared statements. */
export async function checkPreparedStatements(url: string, queryMs: number): Promise<CheckResult> {
  if (await keepsPreparedStatements(url, queryMs))
    return checkPassed('database.prepared', 'The transaction pooler keeps prepared statements.')
  return checkFailed(
    'database.prepared',
    'failure',
    'The transaction pooler breaks prepared statements.',
    'Set DATABASE_PREPARED=off.',
  )
}

/** Whether a prepared statement works in a later transaction, for which a pooler may assign another session. */
function keepsPreparedStatements(url: string, queryMs: number): Promise<boolean> {
  return withDirectClient(
    url,
    (one) =>
      withDirectClient(
        url,
        async (other) => {
          const statement = { name: 'latchkey_doctor', text: 'select 1' }
          try {
            await one.query(statement)
            // This occupies the session that the first client used.
            await other.query('begin')
            await one.query(statement)
            await other.query('commit')
            return true
          } catch (error) {
            if (BROKEN.includes(sqlState(error) ?? '')) return false
            throw error
          }
        },
        queryMs,
      ),
    queryMs,
  )
}
