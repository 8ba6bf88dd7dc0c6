import { readConfiguration } from '../../adapters/config/read-configuration.ts'
import { systemClock } from '../../adapters/system-clock/clock.ts'
import type { DatabaseContext } from '../../application/ports/database.ts'
import { recordingLog } from '../recorded.ts'

/** Settings of a database as in the environment, such as `DATABASE_URL` or `DATA_DIR`. */
export type DatabaseEnv = Readonly<Record<string, string>>

/** Returns the context in which a program with these settings opens its database. It caches no tokens. */
export function databaseContext(env: DatabaseEnv): DatabaseContext {
  const { configuration } = readConfiguration({ env: { TOKEN_CACHE_TTL: '0s', ...env }, dotEnv: null })
  return { configuration, log: recordingLog(), clock: systemClock }
}
