import type { Store } from './adapters/cli/operations.ts'
import type { Configuration } from './adapters/config/configuration.ts'
import { openAuditLog } from './adapters/pino/audit-log.ts'
import { pinoLog } from './adapters/pino/log.ts'
import { systemClock } from './adapters/system-clock/clock.ts'
import { latchkey } from './application/latchkey.ts'
import { patienceOf } from './application/patience.ts'
import type { Backend, Surroundings } from './backend.ts'
import { type ChosenAdapters, portsOn } from './ports-on.ts'
import { postgresBackend } from './postgres-backend.ts'

/** An operator waits longer than a request may. */
const COMMAND_WAIT_MS = 10_000

/** A command's standard output is its answer: only the service logs there. */
const log = pinoLog({ level: 'silent' })

/** What a command works on. */
export interface CommandOptions {
  readonly configuration: Configuration
  readonly backend?: Backend
  readonly adapters?: ChosenAdapters
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
  const backend = await backendOf(options).open('command', surroundingsOf(options))
  try {
    const ports = portsOn(backend, { configuration, role: 'command', adapters, audit, log })
    const patience = () => patienceOf(COMMAND_WAIT_MS, systemClock)
    const { customers, importCustomers, tokens } = latchkey(ports, configuration)
    return await use({
      customers,
      importCustomers,
      tokens,
      tokenRetentionMs: configuration.tokenRetentionMs,
      listCustomers: (afterEmail, limit) =>
        patience().wait((waitMs) => ports.customers.list({ afterEmail, limit }, waitMs)),
      tokensOf: (customerId) => patience().wait((waitMs) => ports.loginTokens.listOf(customerId, waitMs)),
      patience,
      nowMs: ports.clock.nowMs,
    })
  } finally {
    await backend.close()
    audit.close()
  }
}

function backendOf({ backend = postgresBackend }: CommandOptions): Backend {
  return backend
}

function surroundingsOf({ configuration, adapters }: CommandOptions): Surroundings {
  return { configuration, log, clock: adapters?.clock ?? systemClock }
}
