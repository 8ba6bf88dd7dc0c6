import type { Digest } from '../../domain/login-token.ts'

/** The cached digests of each customer. Most customers have one token, which needs no set. */
export class CustomerIndex {
  readonly #digests = new Map<string, Digest | Set<Digest>>()

  add(customerId: string, digest: Digest): void {
    const others = this.#digests.get(customerId)
    if (others === undefined || others === digest) this.#digests.set(customerId, digest)
    else if (typeof others === 'string') this.#digests.set(customerId, new Set([others, digest]))
    else others.add(digest)
  }

  delete(customerId: string, digest: Digest): void {
    const digests = this.#digests.get(customerId)
    if (typeof digests === 'object') digests.delete(digest)
    if (digests === digest || (typeof digests === 'object' && digests.size === 0))
      this.#digests.delete(customerId)
  }

  /** Returns a copy, which later changes do not affect. */
  list(customerId: string): readonly Digest[] {
    const digests = this.#digests.get(customerId) ?? []
    return typeof digests === 'string' ? [digests] : [...digests]
  }

  clear(): void {
    this.#digests.clear()
  }
}
