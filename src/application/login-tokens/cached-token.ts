import type { Customer } from '../../domain/customer.ts'
import type { LoginToken, Memo, OwnedToken } from '../../domain/login-token.ts'

/**
 * A cached validation, with the time of the monotonic clock at which it expires. It is its own memo, because there are many:
 * each object less saves memory. All callers share it, so it is frozen, except for the value of the memo.
 */
export class CachedToken implements OwnedToken, Memo {
  readonly token: LoginToken
  readonly customer: Customer
  readonly untilMonotonicMs: number
  #value: unknown = undefined

  constructor({ token, customer }: OwnedToken, untilMonotonicMs: number) {
    this.token = token
    this.customer = customer
    this.untilMonotonicMs = untilMonotonicMs
    Object.freeze(this)
  }

  get memo(): Memo {
    return this
  }

  get value(): unknown {
    return this.#value
  }

  set value(value: unknown) {
    this.#value = value
  }
}
