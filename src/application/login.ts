import type { Customer } from '../domain/customer.ts'
import { foldedEmail } from '../domain/customer.ts'
import { InvalidCredentials } from '../domain/errors.ts'
import { expiryOf, LOGIN_TOKEN_ABILITIES, LOGIN_TOKEN_NAME, type LoginToken } from '../domain/login-token.ts'
import type { Patience } from './patience.ts'
import type { Ports } from './ports.ts'

/** What a login sets free: the secret is shown this once. */
export interface LoggedIn {
  readonly secret: string
  readonly token: LoginToken
}

/** Exchanges e-mail and password for a new login token and revokes the earlier one, or throws `InvalidCredentials`. */
export type Login = (
  credentials: { readonly email: string; readonly password: string },
  patience: Patience,
) => Promise<LoggedIn>

const ATTEMPTS = 3

export function makeLogin(
  { customers, loginTokens, passwords, secrets, clock, ids }: Ports,
  { tokenTtlMs }: { readonly tokenTtlMs: number | null },
): Login {
  function newLoginToken(customer: Customer): LoginToken {
    const createdAtMs = clock.nowMs()
    return {
      id: ids.next(),
      customerId: customer.id,
      name: LOGIN_TOKEN_NAME,
      abilities: LOGIN_TOKEN_ABILITIES,
      createdAtMs,
      expiresAtMs: expiryOf(createdAtMs, tokenTtlMs),
      revokedAtMs: null,
    }
  }

  return async function login({ email, password }, patience) {
    // A password or a state that changed while it was being verified is verified again.
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const found = await patience.wait((waitMs) => customers.findByEmail(foldedEmail(email), waitMs))
      const mayLogIn = found !== null && found.customer.disabledAtMs === null
      const verifiedHash = mayLogIn ? found.passwordHash : null
      const right = await passwords.verify(password, verifiedHash)
      if (!right || !mayLogIn || verifiedHash === null) break

      const { secret, digest } = secrets.issue()
      const token = newLoginToken(found.customer)
      const revoked = await patience.wait((waitMs) =>
        loginTokens.replace({ token, digest, verifiedHash }, waitMs),
      )
      if (revoked !== null) return { secret, token }
    }
    throw new InvalidCredentials()
  }
}
