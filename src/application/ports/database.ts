import type { CheckResult } from '../../lib/check-result.ts'
import type { Clock } from '../../lib/clock.ts'
import { OperatorError } from '../../lib/operator-error.ts'
import type { Configuration } from '../configuration.ts'
import type { Prunable } from '../jobs/pruning.ts'
import type { DatabaseStatus } from '../jobs/readiness.ts'
import type { BackupOptions, BackupReport, RestoreOptions, UpgradeOptions, UpgradeReport } from './backup.ts'
import type { Customers } from './customers.ts'
import type { ImportedTokens } from './imported-tokens.ts'
import type { Invalidations } from './invalidations.ts'
import type { Log } from './log.ts'
import type { LoginThrottle } from './login-throttle.ts'
import type { LoginTokens } from './login-tokens.ts'
import type { PoolConnections } from './metrics.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'

/**
 * A kind of database: what the service and its commands need of it. An adapter reads its own settings itself. Its
 * methods take no timeout. They reject with an error whose `forOperators` is true, such as `DatabaseUnusable`, when the
 * database cannot be used or reached: its `message` is one line for the operator.
 */
export interface Database<Open extends OpenDatabase = OpenDatabase> {
  /** Opens the database. Creates or updates the schema first, unless `configuration.migrate` is `off`. */
  open(role: Role, context: DatabaseContext): Promise<Open>
  /** Applies the pending migrations. Returns their names in order, or an empty array when none is pending. */
  migrate(context: DatabaseContext): Promise<readonly string[]>
  /** Returns the names of the pending migrations in order. Changes nothing. */
  pendingMigrations(context: DatabaseContext): Promise<readonly string[]>
  /** Returns the results of the database checks of `doctor`. Changes nothing. Left out when there are no checks. */
  examine?(context: DatabaseContext): Promise<readonly CheckResult[]>
  /** Writes a backup of all rows as one consistent snapshot. Changes nothing. Left out by a database with tools of its own. */
  backUp?(context: DatabaseContext, options: BackupOptions): Promise<BackupReport>
  /**
   * Replaces all rows by those of a backup, in one transaction. Resolves once no instance accepts a token that the backup
   * does not have. Rejects, and changes no row, when the file is damaged or does not fit.
   */
  restore?(context: DatabaseContext, options: RestoreOptions): Promise<BackupReport>
  /** Upgrades the data of an earlier version of the database's program. Returns null when there is nothing to upgrade. */
  upgradeData?(context: DatabaseContext, options: UpgradeOptions): Promise<UpgradeReport | null>
}

/**
 * The process that opens the database: `service` serves requests, `primary` opens it for the workers that serve, and
 * `command` is any other command.
 */
export type Role = 'service' | 'primary' | 'command'

/** The context in which a database is opened. */
export interface DatabaseContext {
  readonly configuration: Configuration
  readonly log: Log
  readonly clock: Clock
  /**
   * False for a command that only reads or changes data: it rejects when the database does not exist, instead of creating
   * it. Default: true.
   */
  readonly mayCreate?: boolean
  /** Called repeatedly with the time that a notification of this process took to return to it, in milliseconds. */
  readonly onInvalidationLag?: ((lagMs: number) => void) | undefined
}

/** An open database. Its stores neither cache nor publish invalidations: the service adds both. */
export interface OpenDatabase {
  readonly customers: Customers
  readonly loginTokens: LoginTokens
  readonly oneTimeTokens: OneTimeTokens
  /** Left out when it cannot store tokens of other systems. */
  readonly importedTokens?: ImportedTokens
  /** Left out when each process counts failed logins in its own memory. */
  readonly throttle?: LoginThrottle
  /**
   * Invalidations that reach every process of the database. Left out when there are none: a service then invalidates
   * only its own cache and caches for one second at most, and a command resolves once every entry that a service may
   * have cached has expired.
   */
  readonly invalidations?: Invalidations
  /** What the service prunes besides ended tokens. Left out when there is nothing. */
  readonly prunables?: readonly Prunable[]
  /** Environment variables with which each worker opens the same database. Left out when only one process may open it. */
  readonly workerEnv?: Readonly<Record<string, string>>
  /**
   * The data folder of a database that starts and stops with the service; it is logged for the operator. Null or left
   * out for a database that runs by itself.
   */
  readonly dataDir?: string | null
  /** Rejects when the database is lost for good, with an error for the operator: the service then stops. */
  readonly lost?: Promise<never>
  /** Whether this call of `open` created the schema, so that the database is new. */
  readonly fresh?: boolean
  /** Returns the connection counts of its pool, for the metrics. Left out when it has no pool. */
  readonly connections?: () => PoolConnections
  /**
   * Returns the number of tokens that are neither revoked nor expired, for the metrics; rejects when it cannot count
   * them. It has its own timeout. Left out when it cannot count them.
   */
  readonly countActiveTokens?: () => Promise<number>
  /** Warnings that are logged at the start, one sentence each. */
  readonly notes?: readonly string[]
  /** Returns whether the database can serve requests now; false when it does not respond within `timeoutMs`. Never throws. */
  ready(timeoutMs: number): Promise<boolean>
  /** Returns why the database is or is not ready, within `timeoutMs`. Never throws. Left out when it cannot tell why. */
  readonly checkStatus?: (timeoutMs: number) => Promise<DatabaseStatus>
  /**
   * Applies the reloaded settings to later connections, as for a rotated password. Throws an error for operators when they
   * need a restart. Left out when no setting of the database can be reloaded.
   */
  readonly reload?: (settings: DatabaseSettings) => void
  /** Closes every connection; resolves when they are closed. It is called once, and no store is used afterwards. */
  close(): Promise<void>
}

/** The settings that locate the database. */
export type DatabaseSettings = Pick<Configuration, 'databaseUrl' | 'databaseDirectUrl'>

/** The settings do not fit the database. `message` is one line for the operator. */
export class DatabaseUnusable extends OperatorError {
  override readonly name = 'DatabaseUnusable'
}
