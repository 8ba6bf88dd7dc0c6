import { isAbility } from '../../domain/abilities.ts'
import { ValidationFailed } from '../../domain/errors.ts'
import { createToken, type LoginToken, tokenNameProblem } from '../../domain/login-token.ts'
import type { Deadline } from '../deadline.ts'
import type { Ports } from '../ports/ports.ts'
import { requireValid } from './require-valid.ts'

/** A named token to create, for a bot or a script that acts for a customer. */
export interface NewNamedToken {
  readonly customerId: string
  readonly name: string
  /** An empty array grants no ability. */
  readonly abilities: readonly string[]
  /** Null for a token that never expires. */
  readonly expiresAtMs: number | null
}

/**
 * Creates a named token and records it in the audit log. Returns null when the customer is deleted or disabled. Throws
 * `ValidationFailed` for an invalid name or ability, or a past expiry.
 */
export async function createNamedToken(
  {
    loginTokens,
    secrets,
    clock,
    ids,
    audit,
  }: Pick<Ports, 'loginTokens' | 'secrets' | 'clock' | 'ids' | 'audit'>,
  { customerId, name, abilities, expiresAtMs }: NewNamedToken,
  deadline: Deadline,
): Promise<{ readonly secret: string; readonly token: LoginToken } | null> {
  const createdAtMs = clock.nowMs()
  requireValid('name', tokenNameProblem(name))
  if (!abilities.every(isAbility))
    throw new ValidationFailed({ abilities: ['Must be words such as orders:read, orders:* or *.'] })
  if (expiresAtMs !== null && expiresAtMs <= createdAtMs)
    throw new ValidationFailed({ expires: ['Must lie in the future.'] })
  const { secret, digest } = secrets.issue()
  const token = createToken({
    id: ids.next(),
    customerId,
    name,
    abilities: [...new Set(abilities)],
    createdAtMs,
    expiresAtMs,
  })
  if (!(await deadline.run((timeoutMs) => loginTokens.add(token, digest, timeoutMs)))) return null
  audit.record('token.issued', {
    customerId,
    tokenId: token.id,
    tokenName: name,
    abilities: token.abilities,
  })
  return { secret, token }
}
