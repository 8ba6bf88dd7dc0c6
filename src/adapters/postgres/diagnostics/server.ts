import { type CheckResult, checkFailed, checkPassed } from '../../../lib/check-result.ts'
import { withDirectClient } from '../connection/direct-client.ts'
import { serverFaults } from '../connection/server-faults.ts'

/** Checks that the server responds. `queryMs` is the longest duration of a query. */
export async function checkConnection(name: string, url: string, queryMs: number): Promise<CheckResult> {
  const beganMs = performance.now()
  return withDirectClient(
    url,
    async (client) => {
      const { version, database } = (
        await client.query(
          "select current_setting('server_version') as version, current_database() as database",
        )
      ).rows[0]
      const tookMs = Math.round(performance.now() - beganMs)
      return checkPassed(
        name,
        `PostgreSQL ${version} responds at ${client.host}:${client.port}, database ${database}, in ${tookMs} ms.`,
        { version, connect_ms: tookMs },
      )
    },
    queryMs,
  )
}

/** Checks the version and the settings of the server. */
export async function checkSettings(url: string, queryMs: number): Promise<CheckResult> {
  const faults = await withDirectClient(url, serverFaults, queryMs)
  if (faults.length === 0)
    return checkPassed('database.server', 'The version and the settings of the server fit the service.')
  const state = faults.some(({ isFatal }) => isFatal) ? 'failure' : 'warning'
  const sentences = faults.map(({ sentence }) => sentence).join(' ')
  return checkFailed('database.server', state, sentences, 'See docs/operations/postgresql.md.')
}
