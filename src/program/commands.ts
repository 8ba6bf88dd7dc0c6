import type { Store } from '../adapters/cli/operations.ts'
import { pinoLog } from '../adapters/pino/log.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import type { Configuration } from '../application/configuration.ts'
import { createDeadline } from '../application/deadline.ts'
import type { Database, DatabaseContext } from '../application/ports/database.ts'
import { createUseCases } from '../application/use-cases/use-cases.ts'
import type { AdapterOverrides } from '../composition/adapters.ts'
import { Lifecycle } from '../composition/lifecycle.ts'
import { createAuditLog } from '../composition/logs.ts'
import { createPorts } from '../composition/ports.ts'
import { postgresDatabase } from '../composition/postgres-database.ts'

/** Longer than for a request, because an operator waits. */
const COMMAND_TIMEOUT_MS = 10_000

/** Standard output is for a command's result: only the service logs there. */
const log = pinoLog({ level: 'silent' })

/** The options of a command. */
export interface CommandOptions {
  readonly configuration: Configuration
  readonly database?: Database
  readonly adapters?: AdapterOverrides
}

/** Applies the pending migrations and returns their names. */
export function applyMigrations(options: CommandOptions): Promise<readonly string[]> {
  return selectDatabase(options).migrate(createContext(options))
}

/** Returns the names of the pending migrations. */
export function listPendingMigrations(options: CommandOptions): Promise<readonly string[]> {
  return selectDatabase(options).pendingMigrations({ ...createContext(options), mayCreate: false })
}

/** Opens the database for one command, and closes it when `use` ends. Rejects if it does not exist and `mayCreate` is false. */
export async function withStore<T>(
  options: CommandOptions,
  use: (store: Store) => Promise<T>,
  { mayCreate = false } = {},
): Promise<T> {
  const { configuration, adapters = {} } = options
  // Standard output is for the command's result, so audit events go only to a file.
  const audit = createAuditLog(configuration, adapters.audit, null)
  const lifecycle = new Lifecycle()
  lifecycle.onStop(audit.close)
  try {
    const database = await selectDatabase(options).open('command', { ...createContext(options), mayCreate })
    lifecycle.onStop(() => database.close())
    const ports = createPorts(database, { configuration, role: 'command', adapters, audit, log })
    const deadline = () => createDeadline(COMMAND_TIMEOUT_MS, systemClock)
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
      nowMs: () => ports.clock.nowMs(),
    })
  } finally {
    await lifecycle.stop({ delay: false })
  }
}

function selectDatabase({ database = postgresDatabase() }: CommandOptions): Database {
  return database
}

function createContext({ configuration, adapters }: CommandOptions): DatabaseContext {
  return { configuration, log, clock: adapters?.clock ?? systemClock }
}
