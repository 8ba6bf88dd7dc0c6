import type { Digest } from '../../domain/login-token.ts'

/** What stopped being true, so that whatever was kept of it must go. */
export type Invalidation =
  | { readonly kind: 'digest'; readonly digest: Digest }
  | { readonly kind: 'customer'; readonly customerId: string }
  | { readonly kind: 'everything' }

export interface Invalidations {
  /** Calls `obey` for every invalidation, its own process's included, in the order of the changes. */
  subscribe(apply: (invalidation: Invalidation) => void): void
  /**
   * Whether what was kept may be used now: every change that was acknowledged, and any other that is older than a
   * second, has been obeyed here. Asked again for each use.
   */
  isCurrent(): boolean
  /** Tells of a change that is committed, or may be: obeyed here before it returns; resolves when every instance obeys. */
  publish(invalidation: Invalidation): Promise<void>
}
