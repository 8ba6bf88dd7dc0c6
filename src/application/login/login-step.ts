import type { LoginToken } from '../../domain/login-token.ts'
import type { AuditReason } from '../audit-events.ts'
import type { Deadline } from '../deadline.ts'
import type { LoginAttempt } from '../ports/login-throttle.ts'
import type { Requester } from '../requester.ts'

/** A login on its way through the steps. */
export interface LoginRequest {
  readonly attempt: LoginAttempt
  readonly password: string
  readonly deadline: Deadline
  readonly requester: Requester
}

/** A login that succeeded. The secret is shown only once. */
export interface LoggedIn {
  readonly secret: string
  readonly token: LoginToken
}

/** The outcome of a login. A refusal names the customer for the audit log, or null for an unknown account. */
export type LoginDecision =
  | { readonly kind: 'accepted'; readonly login: LoggedIn }
  | {
      readonly kind: 'refused'
      readonly customerId: string | null
      readonly reason: AuditReason<'login.failed'>
    }

/** A step of the login. A wrapper takes a step and returns one. */
export type LoginStep<Result> = (request: LoginRequest) => Promise<Result>

/** A step after the throttle, which knows whether the account has logged in from this address lately. */
export type AdmittedStep<Result> = (request: LoginRequest, isKnown: boolean) => Promise<Result>
