import type { Store } from '../adapters/cli/operations.ts'
import { openAuditLog } from '../adapters/pino/audit-log.ts'
import { pinoLog } from '../adapters/pino/log.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import type { Configuration } from '../application/configuration.ts'
import { createDeadline } from '../application/deadline.ts'
import type { Database, DatabaseContext } from '../application/ports/database.ts'
import { createUseCases } from '../application/use-cases/use-cases.ts'
import { type AdapterOverrides, createPorts } from '../composition/ports.ts'
import { postgresDatabase } from '../composition/postgres-database.ts'

/** An operator waits longer than a request may. */
const COMMAND_WAIT_MS = 10_000

/** A command's standard output is its answer: only the service logs there. */
const log = pinoLog({ level: 'silent' })

/** What a command works on. */
export interface CommandOptions {
  readonly configuration: Configuration
  readonly database?: Database
  readonly adapters?: AdapterOverrides
}

/** Applies the pending migrations; answers their names. */
export function applyMigrations(options: CommandOptions): Promise<readonly string[]> {
  return backendOf(options).migrate(surroundingsOf(options))
}

/** The names of the migrations that the database lacks. */
export function listPendingMigrations(options: CommandOptions): Promise<readonly string[]> {
  return backendOf(options).pendingMigrations(surroundingsOf(options))
}

/** Opens the database for one command, and closes it whatever `use` does. */
export async function withStore<T>(options: CommandOptions, use: (store: Store) => Promise<T>): Promise<T> {
  const { configuration, adapters = {} } = options
  // Its standard output is its answer: only a file is told.
  const audit = openAuditLog({ path: configuration.auditLog, elsewhere: null })
  const database = await backendOf(options).open('command', surroundingsOf(options))
  try {
    const ports = createPorts(database, { configuration, role: 'command', adapters, audit, log })
    const deadline = () => createDeadline(COMMAND_WAIT_MS, systemClock)
    const { customers, importCustomers, tokens } = createUseCases(ports, configuration)
    return await use({
      customers,
      importCustomers,
      tokens,
      tokenRetentionMs: configuration.tokenRetentionMs,
      listCustomers: (afterEmail, limit) =>
        deadline().run((timeoutMs) => ports.customers.list({ afterEmail, limit }, timeoutMs)),
      tokensOf: (customerId) =>
        deadline().run((timeoutMs) => ports.loginTokens.listByCustomer(customerId, timeoutMs)),
      deadline,
      nowMs: ports.clock.nowMs,
    })
  } finally {
    await database.close()
    audit.close()
  }
}

function backendOf({ database = postgresDatabase }: CommandOptions): Database {
  return database
}

function surroundingsOf({ configuration, adapters }: CommandOptions): DatabaseContext {
  return { configuration, log, clock: adapters?.clock ?? systemClock }
}
