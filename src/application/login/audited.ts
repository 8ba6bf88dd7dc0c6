import { InvalidCredentials, TooManyLogins } from '../../domain/errors.ts'
import type { AuditLog } from '../ports/audit-log.ts'
import { requesterFields } from '../requester.ts'
import type { LoggedIn, LoginDecision, LoginStep } from './login-step.ts'

/**
 * Records why a login was refused. Throws `InvalidCredentials` for a refusal. The throttle has already counted it, so a
 * guess counts even if the audit log cannot be written.
 */
export function audited(audit: AuditLog, step: LoginStep<LoginDecision>): LoginStep<LoggedIn> {
  return async function auditedStep(request) {
    const who = requesterFields(request.requester)
    const decision = await step(request).catch((error: unknown) => {
      if (error instanceof TooManyLogins)
        audit.record('login.throttled', { ...who, reason: error.limit.name })
      throw error
    })
    if (decision.kind === 'accepted') return decision.login
    const { customerId, reason } = decision
    audit.record('login.failed', { ...who, customerId, reason })
    throw new InvalidCredentials()
  }
}
