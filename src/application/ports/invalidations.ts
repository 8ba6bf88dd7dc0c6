import type { Digest } from '../../domain/login-token.ts'

/** What changed, so that cached validations of it must be dropped: one token, all tokens of a customer, or all tokens. */
export type Invalidation =
  | { readonly kind: 'digest'; readonly digest: Digest }
  | { readonly kind: 'customer'; readonly customerId: string }
  | { readonly kind: 'everything' }

/** Publishes invalidations to every instance, and delivers those of every instance to this one. */
export interface Invalidations {
  /**
   * Calls `apply` synchronously for every later invalidation, including those of this process, in the order of the
   * changes. `apply` must not throw.
   */
  subscribe(apply: (invalidation: Invalidation) => void): void
  /**
   * Whether cached validations may be used now: this instance has applied every acknowledged change, and any other
   * change that is older than one second. Called before each use of the cache; neither throws nor waits.
   */
  isCurrent(): boolean
  /** Returns the number of other processes that may use cached validations now. Left out when it is not known. */
  otherInstances?(): number
  /**
   * Publishes a change that is committed or may be. This process applies it before the call returns; the promise
   * resolves when every instance has applied it. There is no timeout argument: the adapter bounds the wait, by one
   * second with PostgreSQL. A rejection means that the change may be committed but is not acknowledged.
   */
  publish(invalidation: Invalidation): Promise<void>
  /**
   * Returns the lease by which this process uses cached validations now, or null without one. Left out when there are no
   * leases: no verifier may then cache.
   */
  lease?(): ProcessLease | null
  /**
   * Registers what must happen before this process acknowledges changes, to others and to itself: `settle` calls back once
   * no verifier uses a validation from before the call. Left out when there are no leases.
   */
  onSettle?(settle: (done: () => void) => void): void
}

/** What remains of the lease of a process. */
export interface ProcessLease {
  /** How much longer it may be used, in milliseconds. */
  readonly leftMs: number
  /** When it has ended for every holder, whatever the rates of the clocks; by the monotonic clock of this process. */
  readonly endMs: number
}
