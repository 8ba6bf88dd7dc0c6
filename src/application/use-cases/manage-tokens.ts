import { ValidationFailed } from '../../domain/errors.ts'
import type { LoginToken } from '../../domain/login-token.ts'
import type { Cancellation } from '../../lib/cancellation.ts'
import type { Deadline } from '../deadline.ts'
import { createNamedToken, type NewNamedToken } from '../management/create-named-token.ts'
import { pruneEndedTokens } from '../management/prune-ended-tokens.ts'
import { revokeAllIssuedBefore } from '../management/revoke-all-issued-before.ts'
import type { PageEnd, TokenChoice, TokenPage } from '../ports/login-tokens.ts'
import type { Ports } from '../ports/ports.ts'
import { type ServiceRequester, serviceFields } from '../requester.ts'

/**
 * An operator's actions on tokens. Each throws `ValidationFailed` for invalid input, and `Unavailable` when the store does
 * not respond within the deadline.
 */
export interface ManageTokens {
  /** Creates a named token. The secret is shown only once. Returns null when the customer is deleted or disabled. */
  create(
    token: NewNamedToken,
    deadline: Deadline,
  ): Promise<{ readonly secret: string; readonly token: LoginToken } | null>
  /** Returns one page of all tokens, ordered by their owners' e-mails. */
  list(
    page: { readonly after: PageEnd | null; readonly limit: number },
    deadline: Deadline,
  ): Promise<TokenPage>
  /** Returns the tokens of one customer, newest first. */
  listByCustomer(customerId: string, deadline: Deadline): Promise<readonly LoginToken[]>
  /** Revokes the chosen tokens of the customer; returns their number. */
  revoke(
    customerId: string,
    chosen: TokenChoice,
    deadline: Deadline,
    /** The holder of the service token; left out for a command. */
    requestedBy?: ServiceRequester,
  ): Promise<number>
  /**
   * Revokes all customers' tokens that were created before `beforeMs`; returns their number. Each step has a whole
   * deadline. Throws `RevocationIncomplete` when a step fails or the signal aborts between two steps.
   */
  revokeIssuedBefore(beforeMs: number, deadline: () => Deadline, signal: Cancellation | null): Promise<number>
  /** Deletes the tokens that ended at least `olderThanMs` ago, each step with its own deadline; returns their number. */
  prune(olderThanMs: number, deadline: () => Deadline): Promise<number>
}

export function createManageTokens(
  ports: Pick<Ports, 'loginTokens' | 'secrets' | 'clock' | 'ids' | 'audit'>,
): ManageTokens {
  const { loginTokens, clock, audit } = ports
  return {
    create: (token, deadline) => createNamedToken(ports, token, deadline),

    list: (page, deadline) => deadline.run((timeoutMs) => loginTokens.list(page, timeoutMs)),

    listByCustomer: (customerId, deadline) =>
      deadline.run((timeoutMs) => loginTokens.listByCustomer(customerId, timeoutMs)),

    async revoke(customerId, chosen, deadline, requestedBy) {
      const count = await deadline.run((timeoutMs) =>
        loginTokens.revokeByCustomer(customerId, chosen, clock.nowMs(), timeoutMs),
      )
      if (count > 0) {
        audit.record('token.revoked', {
          ...(requestedBy && serviceFields(requestedBy)),
          customerId,
          ...(chosen.id !== undefined && { tokenId: chosen.id }),
          ...(chosen.name !== undefined && { tokenName: chosen.name }),
          reason: 'operator',
          count,
        })
      }
      return count
    },

    async revokeIssuedBefore(beforeMs, deadline, signal) {
      const atMs = clock.nowMs()
      if (beforeMs > atMs) throw new ValidationFailed({ 'issued-before': ['Must not lie in the future.'] })
      return revokeAllIssuedBefore(ports, { beforeMs, atMs, deadline, signal })
    },

    prune: (olderThanMs, deadline) => pruneEndedTokens(ports, clock.nowMs() - olderThanMs, deadline),
  }
}
