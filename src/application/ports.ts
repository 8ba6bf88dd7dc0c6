import type { Customer } from '../domain/customer.ts'
import type { Digest, LoginToken, OwnedToken } from '../domain/login-token.ts'
import type { Soon } from './soon.ts'

/**
 * Every port of the house: the whole list of what a team may swap. A call of a store that cannot be answered within
 * `waitMs` milliseconds, or whose store is out of reach, throws `Unavailable`; when that happens to a change, its
 * outcome is unknown. Times are milliseconds since the Unix epoch and come back as they went in.
 */
export interface Ports {
  readonly customers: Customers
  readonly loginTokens: LoginTokens
  readonly invalidations: Invalidations
  readonly passwords: PasswordHasher
  readonly secrets: TokenSecrets
  readonly serviceSecrets: ServiceSecrets
  readonly clock: Clock
  readonly ids: Ids
}

/** A customer with what a password is verified against: null when none was set. */
export interface CustomerCredentials {
  readonly customer: Customer
  readonly passwordHash: string | null
}

export interface Customers {
  /** By e-mail in any ASCII case, or null. */
  findByEmail(email: string, waitMs: number): Promise<CustomerCredentials | null>
  /** Stores a new customer; false when the e-mail, in any ASCII case, is taken. */
  add(credentials: CustomerCredentials, waitMs: number): Promise<boolean>
  /** One page in the order of the folded e-mails, starting behind `afterEmail`. */
  list(
    page: { readonly afterEmail: string | null; readonly limit: number },
    waitMs: number,
  ): Promise<readonly Customer[]>
  /** Sets the hash and revokes the customer's tokens, both or neither; answers how many, or null when unknown. */
  setPasswordHash(id: string, passwordHash: string, atMs: number, waitMs: number): Promise<number | null>
  /** Disables and revokes the customer's tokens, both or neither; answers how many, or null when unknown. */
  disable(id: string, atMs: number, waitMs: number): Promise<number | null>
  /** Lets a disabled customer log in again; false when unknown. */
  enable(id: string, waitMs: number): Promise<boolean>
  /** Removes the customer with all tokens; false when unknown. */
  delete(id: string, waitMs: number): Promise<boolean>
}

export interface LoginTokens {
  /** The token with this digest and its owner, whatever its state, or null. */
  findByDigest(digest: Digest, waitMs: number): Soon<OwnedToken | null>
  /** The tokens of one customer, newest first. */
  listOf(customerId: string, waitMs: number): Promise<readonly LoginToken[]>
  /**
   * Stores a login token and revokes the customer's earlier one, both or neither; of any number of parallel calls
   * for one customer all succeed and one token stays active. Answers how many it revoked; null, and changes nothing,
   * when the customer is gone or disabled or no longer has the `verifiedHash`.
   */
  replace(login: NewLogin, waitMs: number): Promise<number | null>
  /** Stores a token beside the customer's others; false when the customer is gone or disabled. */
  add(token: LoginToken, digest: Digest, waitMs: number): Promise<boolean>
  /** Revokes one token; false when it was not active any more. */
  revoke(
    token: { readonly id: string; readonly digest: Digest },
    atMs: number,
    waitMs: number,
  ): Promise<boolean>
}

export interface NewLogin {
  readonly token: LoginToken
  readonly digest: Digest
  /** The hash that the password was verified against. */
  readonly verifiedHash: string
}

/** What stopped being true, so that whatever was kept of it must go. */
export type Invalidation =
  | { readonly kind: 'digest'; readonly digest: Digest }
  | { readonly kind: 'customer'; readonly customerId: string }
  | { readonly kind: 'everything' }

export interface Invalidations {
  /** Calls `obey` for every invalidation, its own process's included, in the order of the changes. */
  subscribe(obey: (invalidation: Invalidation) => void): void
  /**
   * Whether what was kept may be used now: every change that was acknowledged, and any other that is older than a
   * second, has been obeyed here. Asked again for each use.
   */
  isCurrent(): boolean
  /** Tells of a change that is committed, or may be: obeyed here before it returns; resolves when every instance obeys. */
  announce(invalidation: Invalidation): Promise<void>
}

/** A bounded store of this process; a full one drops entries and never throws. */
export interface Cache<Value> {
  get(key: string): Value | undefined
  /** Keeps the value itself, not a copy, for at most `ttlMs`. */
  set(key: string, value: Value, ttlMs: number): void
  delete(key: string): void
  clear(): void
  /** Calls `removed` for each value that leaves: deleted, expired, evicted or replaced; not for `clear`. */
  onRemoved(removed: (key: string, value: Value) => void): void
}

export interface PasswordHasher {
  /** A whole hash of the password, at the configured cost. */
  hash(password: string): Promise<string>
  /**
   * Whether the hash is of this password. A null or damaged hash answers false, and every answer takes as long as
   * the configured cost does, so that time does not tell which accounts exist.
   */
  verify(password: string, passwordHash: string | null): Promise<boolean>
}

/** A token's text and its digest; the text is handed out once and never stored. */
export interface IssuedSecret {
  readonly secret: string
  readonly digest: Digest
}

export interface TokenSecrets {
  /** A new secret from a cryptographic source. */
  issue(): IssuedSecret
  /** The digest of a presented text, or null when it cannot be a token: no look-up is needed then. */
  digestOf(presented: string): Digest | null
}

export interface ServiceSecrets {
  /** The name of the configured service token that was presented, or null; takes the same time for any text. */
  nameOf(presented: string): string | null
}

export interface Clock {
  /** The wall clock, milliseconds since the Unix epoch. */
  nowMs(): number
  /** Milliseconds from an arbitrary start, never backwards. */
  monotonicMs(): number
}

export interface Ids {
  /** A new UUID. */
  next(): string
}

/** What happened, for operators: one line an event. Fields are an allow-list, so that no secret can slip in. */
export interface Log {
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
}

/** Tells operators of answers: of those that refuse, or of all. Called for each, it neither throws nor waits. */
export interface AccessLog {
  /** Whether it asks for the successes, too, and for the times that answers took. */
  readonly everyAnswer: boolean
  answered(answer: Answered, status: number): void
}

/** What may be told of an answer. */
export interface Answered {
  readonly requestId: string
  /** Null where no request could be read. */
  readonly method: string | null
  /** The route's template, never the path that was sent; null where none was matched. */
  readonly route: string | null
  /** When the request began, by the monotonic clock; null where nobody asks. */
  readonly beganMs: number | null
  /** Whether it refuses a text that cannot be a token. */
  readonly malformedToken: boolean
}

export interface LogFields {
  readonly request_id?: string
  readonly method?: string
  /** The route's template, never the path that was sent. */
  readonly route?: string
  readonly status?: number
  /** An error's class. */
  readonly error?: string
  /** A SQLSTATE or a system error's code. */
  readonly code?: string
  /** Stack frames without the message, which may repeat input. */
  readonly stack?: string
  readonly address?: string
  readonly signal?: string
  readonly detail?: string
}
