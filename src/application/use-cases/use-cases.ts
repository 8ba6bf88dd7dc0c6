import { createDeadline, type Deadline } from '../deadline.ts'
import { rememberingIssued } from '../login-tokens/remembering.ts'
import { UnknownTokenLimit } from '../login-tokens/unknown-token-limit.ts'
import type { Ports } from '../ports/ports.ts'
import { type Authenticate, createAuthenticate } from './authenticate.ts'
import { type Authorize, createAuthorize } from './authorize.ts'
import { createImportCustomers, type ImportCustomers } from './import-customers.ts'
import { createLogin, type Login, type LoginSettings } from './login.ts'
import { createAuthenticateForLogout, createLogout, type Logout } from './logout.ts'
import { createManageCustomers, type ManageCustomers } from './manage-customers.ts'
import { createManageTokens, type ManageTokens } from './manage-tokens.ts'
import { createVerifyServiceToken, type VerifyServiceToken } from './verify-service-token.ts'

/** The settings of the use cases. */
export type Settings = LoginSettings

/** Every use case, bound to its ports; the same in production and in tests. */
export interface UseCases {
  readonly login: Login
  readonly authenticate: Authenticate
  readonly authenticateForLogout: Authenticate
  readonly authorize: Authorize
  readonly logout: Logout
  readonly verifyServiceToken: VerifyServiceToken
  readonly customers: ManageCustomers
  readonly importCustomers: ImportCustomers
  readonly tokens: ManageTokens
  /** Starts a deadline of `timeoutMs` milliseconds. Default: that of a request, one second. */
  readonly deadline: (timeoutMs?: number) => Deadline
}

/** How long one request may wait for its stores in total, in milliseconds. */
export const STORE_TIMEOUT_MS = 1000

/** Wires the use cases to a choice of adapters. */
export function createUseCases(ports: Ports, settings: Settings): UseCases {
  const unknownTokens = new UnknownTokenLimit(ports.clock)
  const issuing = { ...ports, loginTokens: rememberingIssued(ports.loginTokens, unknownTokens) }
  const authenticate = createAuthenticate(ports, unknownTokens)
  return {
    login: createLogin(issuing, settings),
    authenticate,
    authenticateForLogout: createAuthenticateForLogout(ports, authenticate),
    authorize: createAuthorize(ports),
    logout: createLogout(ports),
    verifyServiceToken: createVerifyServiceToken(ports),
    customers: createManageCustomers(ports),
    importCustomers: createImportCustomers(ports),
    tokens: createManageTokens(issuing),
    deadline: (timeoutMs = STORE_TIMEOUT_MS) => createDeadline(timeoutMs, ports.clock),
  }
}
