import type { Deadline } from '../../application/deadline.ts'
import type {
  BackupOptions,
  BackupReport,
  RestoreOptions,
  UpgradeOptions,
  UpgradeReport,
} from '../../application/ports/backup.ts'
import type { ImportCustomers } from '../../application/use-cases/import-customers.ts'
import type { ImportTokens } from '../../application/use-cases/import-tokens.ts'
import type { ManageCustomers } from '../../application/use-cases/manage-customers.ts'
import type { ManageTokens } from '../../application/use-cases/manage-tokens.ts'
import type { Sessions } from '../../application/use-cases/sessions.ts'
import type { Customer } from '../../domain/customer.ts'
import type { LoginToken } from '../../domain/login-token.ts'
import type { CheckResult } from '../../lib/check-result.ts'

/** The operations behind the commands; the composition root implements them. */
export interface Operations {
  /** The version of the package. */
  readonly version: string
  /** Called with the words of a command without its arguments, such as `customer disable`, before it runs. */
  begin?(command: string): void
  /** Runs the service; resolves when it has stopped. */
  serve(): Promise<void>
  /** Applies the pending migrations and returns their names. */
  migrate(): Promise<readonly string[]>
  /** Returns the names of the pending migrations. */
  pendingMigrations(): Promise<readonly string[]>
  /**
   * Opens the database, calls `use`, and closes the database, also when `use` throws. Rejects when there is no database,
   * unless it may be created.
   */
  withStore<T>(use: (store: Store) => Promise<T>, options?: { readonly mayCreate: boolean }): Promise<T>
  /** Writes a backup of the database. */
  backUp(options: BackupOptions): Promise<BackupReport>
  /** Replaces the rows of the database by those of a backup. */
  restore(options: RestoreOptions): Promise<BackupReport>
  /** Upgrades the data folder of the embedded database; returns null when it is of the current version. */
  upgradeData(options: UpgradeOptions): Promise<UpgradeReport | null>
  /** Returns every route in the order of declaration. Does not open the database. */
  routes(): Promise<readonly ListedRoute[]>
  /** Returns the OpenAPI document, and the problems of what it cannot express. Does not open the database. */
  openApi(): Promise<{ readonly document: object; readonly problems: readonly string[] }>
  /** Checks everything that the service needs to start. Failed checks are findings; none is thrown. */
  diagnose(): Promise<Diagnosis>
  /** Returns a new secret for `SERVICE_TOKENS`. */
  newServiceToken(): string
}

/** Every setting, and the result of every check. */
export interface Diagnosis {
  readonly settings: readonly {
    readonly name: string
    /** Secrets are masked; null where the setting is unset or invalid. */
    readonly value: string | null
    readonly source: string
    readonly variable: string
  }[]
  readonly findings: readonly CheckResult[]
}

/** A route as the command `routes` lists it. */
export interface ListedRoute {
  readonly method: string
  readonly path: string
  readonly auth: string
  readonly abilities: readonly string[]
  /** The scopes that a service token needs. */
  readonly scopes: readonly string[]
  /** Whether it sends a script, style, image or other part of a page, and no HTML. */
  readonly isPageAsset: boolean
}

/** The open database as the commands use it. */
export interface Store {
  readonly customers: ManageCustomers
  readonly importCustomers: ImportCustomers
  /** Null when the database cannot store tokens of other systems. */
  readonly importTokens: ImportTokens | null
  readonly tokens: ManageTokens
  readonly sessions: Pick<Sessions, 'listByCustomer'>
  /** Whether commands reach the counts of failed logins: they are not in the memory of each process. */
  readonly sharesThrottle: boolean
  /** The retention time of revoked and expired tokens, in milliseconds. */
  readonly tokenRetentionMs: number
  /** Returns one page, ordered by case-folded e-mail, that starts after `afterEmail`. */
  listCustomers(afterEmail: string | null, limit: number): Promise<readonly Customer[]>
  /** Returns the tokens of one customer, newest first. */
  tokensOf(customerId: string): Promise<readonly LoginToken[]>
  /** Returns a new deadline for database calls. */
  deadline(): Deadline
  /** Returns the wall-clock time in milliseconds since the Unix epoch. */
  nowMs(): number
}
