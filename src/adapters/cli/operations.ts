import type { AdministerCustomers } from '../../application/administer-customers.ts'
import type { Patience } from '../../application/patience.ts'
import type { Customer } from '../../domain/customer.ts'
import type { LoginToken } from '../../domain/login-token.ts'

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
  /** A new secret that may stand in `SERVICE_TOKENS`. */
  newServiceToken(): string
}

/** The open database as operators use it. */
export interface Store {
  readonly customers: AdministerCustomers
  /** One page in the order of the folded e-mails, starting behind `afterEmail`. */
  listCustomers(afterEmail: string | null, limit: number): Promise<readonly Customer[]>
  /** The tokens of one customer, newest first. */
  tokensOf(customerId: string): Promise<readonly LoginToken[]>
  /** A new patience with the database. */
  patience(): Patience
  /** The wall clock, milliseconds since the Unix epoch. */
  nowMs(): number
}
