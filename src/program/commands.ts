import type { Store } from '../adapters/cli/operations.ts'
import { DigestSet } from '../adapters/node-crypto/digest-set.ts'
import { foreignDigest } from '../adapters/node-crypto/foreign-secrets.ts'
import { commandActor } from '../adapters/node-os/command-actor.ts'
import { pinoLog } from '../adapters/pino/log.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import { attributedAuditLog } from '../application/attributed-audit-log.ts'
import { boundCalls } from '../application/bounded-calls.ts'
import type { Configuration } from '../application/configuration.ts'
import { createDeadline } from '../application/deadline.ts'
import type {
  BackupOptions,
  BackupReport,
  RestoreOptions,
  UpgradeOptions,
  UpgradeReport,
} from '../application/ports/backup.ts'
import { type Database, type DatabaseContext, DatabaseUnusable } from '../application/ports/database.ts'
import type { ImportedTokens } from '../application/ports/imported-tokens.ts'
import type { Ports } from '../application/ports/ports.ts'
import { createImportTokens, type ImportTokens } from '../application/use-cases/import-tokens.ts'
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

interface DatabaseOptions {
  readonly configuration: Configuration
  readonly database?: Database
  readonly adapters?: AdapterOverrides
}

/** The options of a command. */
export interface CommandOptions extends DatabaseOptions {
  /** The words of the command without its arguments, for the audit log. Default: none. */
  readonly command?: string
}

/** Applies the pending migrations and returns their names. */
export function applyMigrations(options: DatabaseOptions): Promise<readonly string[]> {
  return selectDatabase(options).migrate(createContext(options))
}

/** Returns the names of the pending migrations. */
export function listPendingMigrations(options: DatabaseOptions): Promise<readonly string[]> {
  return selectDatabase(options).pendingMigrations({ ...createContext(options), mayCreate: false })
}

/** Writes a backup of the database. Throws `DatabaseUnusable` for a kind of database that has none. */
export function backUp(options: CommandOptions, backup: BackupOptions): Promise<BackupReport> {
  const database = selectDatabase(options)
  if (database.backUp === undefined) throw new DatabaseUnusable(WITHOUT_BACKUP)
  return database.backUp({ ...createContext(options), mayCreate: false }, backup)
}

/** Restores a backup. Throws `DatabaseUnusable` for a kind of database that has none. */
export function restore(options: CommandOptions, source: RestoreOptions): Promise<BackupReport> {
  const database = selectDatabase(options)
  if (database.restore === undefined) throw new DatabaseUnusable(WITHOUT_BACKUP)
  return database.restore(createContext(options), source)
}

/** Upgrades the data folder. Throws `DatabaseUnusable` for a kind of database that has none. */
export function upgradeData(options: CommandOptions, upgrade: UpgradeOptions): Promise<UpgradeReport | null> {
  const database = selectDatabase(options)
  if (database.upgradeData === undefined)
    throw new DatabaseUnusable('This kind of database has no data folder to upgrade: use its tools.')
  return database.upgradeData({ ...createContext(options), mayCreate: false }, upgrade)
}

const WITHOUT_BACKUP = 'This kind of database has no backup of its own: use its tools.'

/** Opens the database for one command, and closes it when `use` ends. Rejects if it does not exist and `mayCreate` is false. */
export async function withStore<T>(
  options: CommandOptions,
  use: (store: Store) => Promise<T>,
  { mayCreate = false } = {},
): Promise<T> {
  const { configuration, adapters = {}, command = '' } = options
  // Standard output is for the command's result, so audit events go only to a file.
  const audit = createAuditLog(configuration, adapters.audit, null)
  const attributed = attributedAuditLog(audit, commandActor(command))
  const lifecycle = new Lifecycle()
  lifecycle.onStop(audit.close)
  try {
    const database = await selectDatabase(options).open('command', { ...createContext(options), mayCreate })
    lifecycle.onStop(() => database.close())
    const ports = createPorts(database, { configuration, role: 'command', adapters, audit: attributed, log })
    const deadline = () => createDeadline(COMMAND_TIMEOUT_MS, systemClock)
    const { customers, importCustomers, tokens, sessions } = createUseCases(ports, configuration)
    return await use({
      customers,
      importCustomers,
      importTokens: importTokensInto(database.importedTokens, ports),
      tokens,
      sessions,
      sharesThrottle: (adapters.throttle ?? database.throttle) !== undefined,
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

function importTokensInto(store: ImportedTokens | undefined, ports: Ports): ImportTokens | null {
  if (store === undefined) return null
  const bound = boundCalls(store, ports.clock)
  return createImportTokens(ports, bound, foreignDigest, () => new DigestSet())
}

function selectDatabase({ database = postgresDatabase() }: DatabaseOptions): Database {
  return database
}

function createContext({ configuration, adapters }: DatabaseOptions): DatabaseContext {
  return { configuration, log, clock: adapters?.clock ?? systemClock }
}
