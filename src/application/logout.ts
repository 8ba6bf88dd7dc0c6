import { InvalidToken, LoginTokenRequired } from '../domain/errors.ts'
import { LOGIN_TOKEN_NAME } from '../domain/login-token.ts'
import type { Caller } from './authenticate.ts'
import type { Patience } from './patience.ts'
import type { Ports } from './ports.ts'

/**
 * Revokes the caller's login token; once it resolves the token is refused. Throws `LoginTokenRequired` for a named
 * token, and `InvalidToken` when somebody else revoked it first.
 */
export type Logout = (caller: Caller, patience: Patience) => Promise<void>

export function makeLogout({ loginTokens, clock }: Ports): Logout {
  return async function logout({ token, digest }, patience) {
    if (token.name !== LOGIN_TOKEN_NAME) throw new LoginTokenRequired()
    const revoked = await patience.wait((waitMs) =>
      loginTokens.revoke({ id: token.id, digest }, clock.nowMs(), waitMs),
    )
    if (!revoked) throw new InvalidToken()
  }
}
