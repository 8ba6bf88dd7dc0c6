import type { ProcessSurvey } from '../adapters/config/process-configuration.ts'
import { pinoLog } from '../adapters/pino/log.ts'
import type { Database } from '../application/ports/database.ts'
import { type CheckResult, checkFailed, checkPassed } from '../lib/check-result.ts'
import type { Clock } from '../lib/clock.ts'

/** Settings that locate the database. */
const DATABASE_SETTINGS = /^(DATABASE_(DIRECT_)?URL(_FILE)?|DATA_DIR|\.env)$/

/** Returns the findings about the database, which is examined only when the settings that locate it are valid. */
export async function databaseFindings(
  { configuration, problems }: ProcessSurvey,
  database: Database,
  clock: Clock,
): Promise<readonly CheckResult[]> {
  const invalid = problems.map(({ name }) => name).filter((name) => DATABASE_SETTINGS.test(name))
  if (invalid.length > 0)
    return [
      checkFailed(
        'database',
        'warning',
        'The database was not examined.',
        `Correct ${invalid.join(' and ')} first.`,
      ),
    ]
  if (database.examine === undefined)
    return [checkPassed('database', 'This kind of database has no checks of its own.')]
  try {
    return await database.examine({ configuration, log: pinoLog({ level: 'silent' }), clock })
  } catch (error) {
    return [
      checkFailed(
        'database',
        'failure',
        (error as Error).message.replaceAll('\n', ' '),
        'Check the database settings.',
      ),
    ]
  }
}
