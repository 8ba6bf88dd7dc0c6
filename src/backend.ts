import type { Configuration } from './adapters/config/configuration.ts'
import type { Finding } from './application/finding.ts'
import type { Clock } from './application/ports/clock.ts'
import type { Customers } from './application/ports/customers.ts'
import type { Invalidations } from './application/ports/invalidations.ts'
import type { Log } from './application/ports/log.ts'
import type { LoginThrottle } from './application/ports/login-throttle.ts'
import type { LoginTokens } from './application/ports/login-tokens.ts'
import type { Prunable } from './application/pruning.ts'
import type { Look } from './application/readiness.ts'

/** A kind of database: what a service and its commands need of it. Its own settings are its maker's to read. */
export interface Backend {
  /** Opens the database with the schema that it needs, which it makes itself unless `migrate` is `off`. */
  open(role: Role, surroundings: Surroundings): Promise<OpenBackend>
  /** Applies the pending migrations; answers their names. */
  migrate(surroundings: Surroundings): Promise<readonly string[]>
  /** The names of the migrations that the database lacks; changes nothing. */
  pendingMigrations(surroundings: Surroundings): Promise<readonly string[]>
  /** What `doctor` tells of the database; changes nothing in it. Left out where there is nothing to tell. */
  examine?(surroundings: Surroundings): Promise<readonly Finding[]>
}

/** Who opens: a process that serves, one that serves through workers and has the database for them, or a command. */
export type Role = 'service' | 'primary' | 'command'

/** What a database is opened with. */
export interface Surroundings {
  readonly configuration: Configuration
  readonly log: Log
  readonly clock: Clock
  /** To be told how long a notification takes to come back to whoever sent it, in milliseconds, again and again. */
  readonly onInvalidationLag?: ((lagMs: number) => void) | undefined
}

/** An open database. Its stores neither cache nor announce: the service puts that around them. */
export interface OpenBackend {
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
  ready(waitMs: number): Promise<boolean>
  /** The same in two parts, for those who want to know why; left out where they cannot be told apart. */
  readonly look?: (waitMs: number) => Promise<Look>
  close(): Promise<void>
}

/** The database and the settings do not go together: `message` is one line for the operator. */
export class BackendRefused extends Error {
  override readonly name = 'BackendRefused'
  /** The message is written for operators and is shown as it is. */
  readonly forOperators = true
}

/** What each worker is given to open the database; throws `BackendRefused` where several processes may not serve from it. */
export function sharedWithWorkers(
  { workerEnv, invalidations }: OpenBackend,
  { workers, tokenCacheTtlMs }: Configuration,
): Readonly<Record<string, string>> {
  if (workerEnv === undefined) {
    throw new BackendRefused(`WORKERS=${workers}: only one process can serve from this database.`)
  }
  if (invalidations === undefined && tokenCacheTtlMs > 0) {
    throw new BackendRefused(
      `WORKERS=${workers} needs TOKEN_CACHE_TTL=0s on this database, which tells no process of what another revokes.`,
    )
  }
  return workerEnv
}
