import { InvalidCredentials, TooManyLogins, TooManySessions } from '../../domain/errors.ts'
import type { AuditLog } from '../ports/audit-log.ts'
import { requesterFields } from '../requester.ts'
import type { Decision, PasswordRequest, PasswordStep } from './login-step.ts'

/**
 * Records why a login or a change of the password was refused. Throws `InvalidCredentials` for a wrong password. The throttle has already counted it, so a
 * guess counts even if the audit log cannot be written.
 */
export function audited<Request extends PasswordRequest, Result>(
  audit: AuditLog,
  step: PasswordStep<Request, Decision<Result>>,
): PasswordStep<Request, Result> {
  return async function auditedStep(request) {
    const who = requesterFields(request.requester)
    const decision = await step(request).catch((error: unknown) => {
      if (error instanceof TooManyLogins)
        audit.record('login.throttled', { ...who, reason: error.limit.name })
      if (error instanceof TooManySessions) audit.record('login.failed', { ...who, reason: 'sessions' })
      throw error
    })
    if (decision.kind === 'accepted') return decision.result
    const { customerId, reason } = decision
    audit.record('login.failed', { ...who, customerId, reason })
    throw new InvalidCredentials()
  }
}
