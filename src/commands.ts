import type { Store } from './adapters/cli/operations.ts'
import type { Configuration } from './adapters/config/configuration.ts'
import { pinoLog } from './adapters/pino/log.ts'
import { waitedInvalidations } from './adapters/postgres/invalidations.ts'
import { migrate, pendingMigrations } from './adapters/postgres/migrations.ts'
import { systemClock } from './adapters/system-clock/clock.ts'
import { latchkey } from './application/latchkey.ts'
import { patienceOf } from './application/patience.ts'
import { openDatabase, withServer } from './database.ts'
import { postgresPorts } from './service.ts'

/** An operator waits longer than a request may. */
const COMMAND_WAIT_MS = 10_000

/** A command's standard output is its answer: only the service logs there. */
const log = pinoLog({ level: 'silent' })

/** Applies the pending migrations; answers their names. */
export function applyMigrations(configuration: Configuration): Promise<readonly string[]> {
  return withServer(configuration, log, (url) => migrate({ url }))
}

/** The names of the migrations that the database lacks. */
export function listPendingMigrations(configuration: Configuration): Promise<readonly string[]> {
  return withServer(configuration, log, (url) => pendingMigrations({ url }))
}

/** Opens the database for one command, and closes it whatever `use` does. */
export async function withStore<T>(
  configuration: Configuration,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(configuration, 'command', log)
  try {
    const ports = postgresPorts(configuration, database.pool, waitedInvalidations())
    const patience = () => patienceOf(COMMAND_WAIT_MS, systemClock)
    return await use({
      customers: latchkey(ports, configuration).customers,
      listCustomers: (afterEmail, limit) =>
        patience().wait((waitMs) => ports.customers.list({ afterEmail, limit }, waitMs)),
      tokensOf: (customerId) => patience().wait((waitMs) => ports.loginTokens.listOf(customerId, waitMs)),
      patience,
      nowMs: systemClock.nowMs,
    })
  } finally {
    await database.close()
  }
}
