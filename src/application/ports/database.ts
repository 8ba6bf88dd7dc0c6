import type { CheckResult } from '../../lib/check-result.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Configuration } from '../configuration.ts'
import type { Prunable } from '../jobs/pruning.ts'
import type { DatabaseStatus } from '../jobs/readiness.ts'
import type { Customers } from './customers.ts'
import type { Invalidations } from './invalidations.ts'
import type { Log } from './log.ts'
import type { LoginThrottle } from './login-throttle.ts'
import type { LoginTokens } from './login-tokens.ts'

/** A kind of database: what a service and its commands need of it. Its own settings are its maker's to read. */
export interface Database {
  /** Opens the database with the schema that it needs, which it makes itself unless `migrate` is `off`. */
  open(role: Role, surroundings: DatabaseContext): Promise<OpenDatabase>
  /** Applies the pending migrations; answers their names. */
  migrate(surroundings: DatabaseContext): Promise<readonly string[]>
  /** The names of the migrations that the database lacks; changes nothing. */
  pendingMigrations(surroundings: DatabaseContext): Promise<readonly string[]>
  /** What `doctor` tells of the database; changes nothing in it. Left out where there is nothing to tell. */
  examine?(surroundings: DatabaseContext): Promise<readonly CheckResult[]>
}

/** Who opens: a process that serves, one that serves through workers and has the database for them, or a command. */
export type Role = 'service' | 'primary' | 'command'

/** What a database is opened with. */
export interface DatabaseContext {
  readonly configuration: Configuration
  readonly log: Log
  readonly clock: Clock
  /** To be told how long a notification takes to come back to whoever sent it, in milliseconds, again and again. */
  readonly onInvalidationLag?: ((lagMs: number) => void) | undefined
}

/** An open database. Its stores neither cache nor announce: the service puts that around them. */
export interface OpenDatabase {
  readonly customers: Customers
  readonly loginTokens: LoginTokens
  /** Left out where each process counts failed logins for itself, in memory. */
  readonly throttle?: LoginThrottle
  /**
   * Those that reach every process of the database. Left out where there are none: a service then invalidates what it
   * keeps itself and keeps nothing for longer than a second, and a command answers when whatever a service has kept is
   * too old.
   */
  readonly invalidations?: Invalidations
  /** What grows old in it beside ended tokens, which the service prunes by itself. */
  readonly prunables?: readonly Prunable[]
  /** What each of several workers has in its environment to open this same database; left out where only one process may. */
  readonly workerEnv?: Readonly<Record<string, string>>
  /** The folder of a database that lives and ends with the service; the operator is told. */
  readonly dataDir?: string | null
  /** Rejects when the database is lost for good, with an error for the operator: the service then ends. */
  readonly lost?: Promise<never>
  /** Whether this opening made the schema: nobody has used the database before. */
  readonly fresh?: boolean
  /** The connections of its pool, for the metrics. */
  readonly connections?: () => {
    readonly used: number
    readonly idle: number
    readonly max: number
    /** Requests that wait for one. */
    readonly pending: number
  }
  /** Counts the tokens that are neither revoked nor expired, for the metrics; asked for now and then. */
  readonly countActiveTokens?: () => Promise<number>
  /** Sentences that the operator should read at the start. */
  readonly notes?: readonly string[]
  /** True when requests can be served from it now, found out within `waitMs`; never throws. */
  ready(timeoutMs: number): Promise<boolean>
  /** The same in two parts, for those who want to know why; left out where they cannot be told apart. */
  readonly checkStatus?: (timeoutMs: number) => Promise<DatabaseStatus>
  close(): Promise<void>
}

/** The database and the settings do not go together: `message` is one line for the operator. */
export class DatabaseUnusable extends Error {
  override readonly name = 'BackendRefused'
  /** The message is written for operators and is shown as it is. */
  readonly forOperators = true
}
