import { type CheckResult, checkFailed, checkPassed, type Facts } from '../../../lib/check-result.ts'
import { pendingMigrations } from '../migrations.ts'
import type { ExaminedDatabase } from './examine-database.ts'

/** Checks that the schema is current. Pending migrations are a warning while a start applies them. */
export async function checkMigrations({
  directUrl,
  sets,
  migrate,
}: Pick<ExaminedDatabase, 'directUrl' | 'sets' | 'migrate'>): Promise<CheckResult> {
  const pending = (await Promise.all(sets.map((set) => pendingMigrations({ url: directUrl, set })))).flat()
  const facts: Facts = { pending }
  if (pending.length === 0) return checkPassed('database.migrations', 'The schema is current.', facts)
  const message = `The schema lacks ${pending.join(', ')}.`
  return migrate === 'off'
    ? checkFailed(
        'database.migrations',
        'failure',
        message,
        'Run the command migrate: with MIGRATE=off no service starts.',
        facts,
      )
    : checkFailed(
        'database.migrations',
        'warning',
        message,
        'The next start applies it, or the command migrate.',
        facts,
      )
}
