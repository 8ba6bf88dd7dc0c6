import { CachedToken } from '../../../application/login-tokens/cached-token.ts'
import type { Requester } from '../../../application/requester.ts'
import type { Caller } from '../../../application/use-cases/authenticate.ts'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import { InvalidToken, TooManyUnknownTokens } from '../../../domain/errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import { isPromise } from '../../../lib/maybe-promise.ts'
import { toNetwork } from '../request/client-address.ts'

/** What lookups need of the service. */
export interface LookupServices {
  readonly useCases: Pick<UseCases, 'authenticateDigest' | 'deadline' | 'used'>
  readonly cacheTtlMs: number
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>
}

/** The lookups of one verifier. */
export class VerifierLookups {
  readonly #services: LookupServices
  readonly #service: string
  readonly #requester: Requester
  #count = 0

  /** `service` is the name of the service token, which is charged for unknown tokens of unnamed clients. */
  constructor(services: LookupServices, service: string, requester: Requester) {
    this.#services = services
    this.#service = service
    this.#requester = requester
  }

  /** The number of lookups in progress. */
  get count(): number {
    return this.#count
  }

  /** The verifier has used the token with this id from its cache. */
  used(tokenId: string): void {
    this.#services.useCases.used(tokenId)
  }

  /** Calls `respond` once with the line of the result: synchronously for a cached token. */
  find(n: number, digest: string, address: string | undefined, respond: (line: string) => void): void {
    const { useCases } = this.#services
    const client = address === undefined ? null : toNetwork(address)
    const { requestId, signal } = this.#requester
    const requester = {
      requestId,
      signal,
      address: client ?? this.#requester.address,
      payer: client ?? `service ${this.#service}`,
    }
    try {
      const found = useCases.authenticateDigest(digest, useCases.deadline(), requester)
      if (!isPromise(found)) {
        respond(this.#encodeFound(n, found))
        return
      }
      this.#count += 1
      const settle = (line: string) => {
        this.#count -= 1
        respond(line)
      }
      found.then(
        (caller) => settle(this.#encodeFound(n, caller)),
        (error: unknown) => settle(encodeFailure(n, error)),
      )
    } catch (error) {
      respond(encodeFailure(n, error))
    }
  }

  #encodeFound(n: number, { token, customer, memo }: Caller): string {
    const { clock, cacheTtlMs } = this.#services
    // A validation from the cache of this process must not be cached for longer in all.
    const leftMs = memo instanceof CachedToken ? memo.untilMonotonicMs - clock.monotonicMs() : Infinity
    const fields = {
      customer: customer.id,
      email: customer.email,
      token: token.id,
      name: token.name,
      abilities: token.abilities,
      expires: token.expiresAtMs === null ? null : Math.floor(token.expiresAtMs - clock.nowMs()),
      keep: Math.floor(Math.min(cacheTtlMs, leftMs)),
    }
    // Lines are ASCII, so that no decoder can split them elsewhere.
    const json = JSON.stringify(fields).replace(
      /[^ -~]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    return `found ${n} ${json}`
  }
}

function encodeFailure(n: number, error: unknown): string {
  if (error instanceof InvalidToken) return `none ${n}`
  if (error instanceof TooManyUnknownTokens) return `limited ${n} ${Math.ceil(error.limit.retryAfterMs)}`
  return `failed ${n}`
}
