import { withDirectClient } from '../connection/direct-client.ts'
import { sqlState } from '../connection/sql-state.ts'

/** What a pooler makes of a statement that another session has prepared, or that this one has lost. */
const BROKEN = ['26000', '42P05', '0A000']

/** Whether a statement that was prepared can be used in a later transaction, when a pooler lends another session for it. */
export function keepsPreparedStatements(url: string, queryMs: number): Promise<boolean> {
  return withDirectClient(
    url,
    (one) =>
      withDirectClient(
        url,
        async (other) => {
          const statement = { name: 'latchkey_doctor', text: 'select 1' }
          try {
            await one.query(statement)
            // It takes the session that the other has used.
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
