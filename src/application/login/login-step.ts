import type { LoginToken } from '../../domain/login-token.ts'
import type { AuditReason } from '../audit-events.ts'
import type { Deadline } from '../deadline.ts'
import type { LoginAttempt } from '../ports/login-throttle.ts'
import type { Requester } from '../requester.ts'

/** A password that is to be verified, on its way through the steps. */
export interface PasswordRequest {
  readonly attempt: LoginAttempt
  readonly password: string
  readonly deadline: Deadline
  readonly requester: Requester
}

/** A login on its way through the steps. */
export interface LoginRequest extends PasswordRequest {
  /** The label of the new session, or null. */
  readonly device: string | null
}

/** A login that succeeded. The secret is shown only once. */
export interface LoggedIn {
  readonly secret: string
  readonly token: LoginToken
}

/** The outcome of a verification. A refusal names the customer for the audit log, or null for an unknown account. */
export type Decision<Result> =
  | { readonly kind: 'accepted'; readonly result: Result }
  | {
      readonly kind: 'refused'
      readonly customerId: string | null
      readonly reason: AuditReason<'login.failed'>
    }

/** A step of a login, or of another use of the password. A wrapper takes a step and returns one. */
export type PasswordStep<Request extends PasswordRequest, Result> = (request: Request) => Promise<Result>

/** A step after the throttle, which knows whether the account has logged in from this address lately. */
export type AdmittedStep<Request extends PasswordRequest, Result> = (
  request: Request,
  isKnown: boolean,
) => Promise<Result>
