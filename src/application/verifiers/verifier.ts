import { covers } from '../../domain/abilities.ts'

/** A valid token and its owner. */
export interface Verified {
  readonly customerId: string
  readonly email: string
  /** The name of the token: `login`, or that of a named token. */
  readonly tokenName: string
  readonly abilities: readonly string[]
  /** When it expires, in milliseconds since the Unix epoch by this machine's clock; null if never. */
  readonly expiresAtMs: number | null
}

/** Verifies tokens in this process. */
export interface Verifier {
  /**
   * Returns the token and its owner, or null when it is not valid; synchronously when it is cached. Once a logout is
   * acknowledged, no call that begins later accepts its token. `address` is the client's network address, which is charged
   * for unknown tokens; without it they are charged to the service token. Rejects with `VerifierUnavailable` when there is no
   * result: refuse the request then.
   */
  verify(token: string, options?: { readonly address?: string }): Verified | null | Promise<Verified | null>
  /** Whether cached validations are used now. Otherwise each call asks Latchkey. */
  isCaching(): boolean
  /** Says that this process verifies no more, and closes the connection. */
  close(): Promise<void>
}

/** Why there is no result. `retryAfterMs` is null unless too many unknown tokens were presented. */
export class VerifierUnavailable extends Error {
  override readonly name = 'VerifierUnavailable'
  readonly retryAfterMs: number | null

  constructor(sentence: string, retryAfterMs: number | null = null) {
    super(sentence)
    this.retryAfterMs = retryAfterMs
  }
}

/** Whether the verified token has the ability, or one that includes it, such as `orders:*` or `*`. */
export function hasAbility({ abilities }: Verified, ability: string): boolean {
  return covers(abilities, ability)
}
