import { type CheckResult, checkFailed, checkPassed, type Facts } from '../../../lib/check-result.ts'
import { schemaState } from '../migrations.ts'
import type { ExaminedDatabase } from './examine-database.ts'

/** Checks that the schema is current. Pending migrations are a warning while a start applies them, newer ones always. */
export async function checkMigrations({
  directUrl,
  sets,
  migrate,
}: Pick<ExaminedDatabase, 'directUrl' | 'sets' | 'migrate'>): Promise<CheckResult> {
  const states = await Promise.all(sets.map((set) => schemaState({ url: directUrl, set })))
  const pending = states.flatMap((state) => state.pending)
  const newer = states.flatMap((state) => state.newer)
  const facts: Facts = { pending, newer }
  if (newer.length > 0)
    return checkFailed(
      'database.migrations',
      'warning',
      `The schema is that of a newer version, on which this one works: it has ${newer.join(', ')}.`,
      'Run the newer version, unless you have returned to this one on purpose.',
      facts,
    )
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
