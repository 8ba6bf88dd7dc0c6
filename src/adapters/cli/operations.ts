import type { Deadline } from '../../application/deadline.ts'
import type { ImportCustomers } from '../../application/use-cases/import-customers.ts'
import type { ManageCustomers } from '../../application/use-cases/manage-customers.ts'
import type { ManageTokens } from '../../application/use-cases/manage-tokens.ts'
import type { Customer } from '../../domain/customer.ts'
import type { LoginToken } from '../../domain/login-token.ts'
import type { CheckResult } from '../../lib/check-result.ts'

/** What the commands are made of; the composition root gives them their technology. */
export interface Operations {
  /** The version of the package. */
  readonly version: string
  /** Runs the service; resolves when it has stopped. */
  serve(): Promise<void>
  /** Applies the pending migrations; answers their names. */
  migrate(): Promise<readonly string[]>
  /** The names of the migrations that the database lacks. */
  pendingMigrations(): Promise<readonly string[]>
  /** Opens the database, hands it out and closes it again, whatever `use` does. */
  withStore<T>(use: (store: Store) => Promise<T>): Promise<T>
  /** Every route that the service has, in the order of its declaration; no database is asked. */
  routes(): Promise<readonly ListedRoute[]>
  /** The OpenAPI document, with what could not be said in it; no database is asked. */
  openApi(): Promise<{ readonly document: object; readonly problems: readonly string[] }>
  /** Examines what a service would start with; throws for nothing that is wrong. */
  diagnose(): Promise<Diagnosis>
  /** A new secret that may stand in `SERVICE_TOKENS`. */
  newServiceToken(): string
}

/** Every setting, and what was found out about all that the service needs. */
export interface Diagnosis {
  readonly settings: readonly {
    readonly name: string
    /** With secrets masked; null where it is unset, or wrong. */
    readonly value: string | null
    readonly source: string
    readonly variable: string
  }[]
  readonly findings: readonly CheckResult[]
}

/** A route as its line shows it. */
export interface ListedRoute {
  readonly method: string
  readonly path: string
  readonly auth: string
  readonly abilities: readonly string[]
}

/** The open database as operators use it. */
export interface Store {
  readonly customers: ManageCustomers
  readonly importCustomers: ImportCustomers
  readonly tokens: ManageTokens
  /** How long revoked and expired tokens are kept, in milliseconds. */
  readonly tokenRetentionMs: number
  /** One page in the order of the folded e-mails, starting behind `afterEmail`. */
  listCustomers(afterEmail: string | null, limit: number): Promise<readonly Customer[]>
  /** The tokens of one customer, newest first. */
  tokensOf(customerId: string): Promise<readonly LoginToken[]>
  /** A new patience with the database. */
  deadline(): Deadline
  /** The wall clock, milliseconds since the Unix epoch. */
  nowMs(): number
}
