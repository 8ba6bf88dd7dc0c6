import { createDeadline, type Deadline } from '../deadline.ts'
import { rememberingIssued } from '../login-tokens/remembering.ts'
import { UnknownTokenLimit } from '../login-tokens/unknown-token-limit.ts'
import type { Ports } from '../ports/ports.ts'
import {
  type Authenticate,
  type AuthenticateDigest,
  createAuthenticate,
  createAuthenticateDigest,
} from './authenticate.ts'
import { type Authorize, createAuthorize } from './authorize.ts'
import { createImportCustomers, type ImportCustomers } from './import-customers.ts'
import { createIntrospect, type Introspect } from './introspect.ts'
import { createLogin, type Login, type LoginSettings } from './login.ts'
import { createAuthenticateForLogout, createLogout, type Logout } from './logout.ts'
import { createManageCustomers, type ManageCustomers } from './manage-customers.ts'
import { createManageTokens, type ManageTokens } from './manage-tokens.ts'
import { createOneTimeTokens, type ManageOneTimeTokens } from './one-time-tokens.ts'
import { createPasswords, type PasswordSettings, type Passwords } from './passwords.ts'
import { createRequireFresh, type RequireFresh } from './require-fresh.ts'
import { createRevokePresented, type RevokePresented } from './revoke-presented.ts'
import { createSessions, type Sessions } from './sessions.ts'
import { createVerifyServiceToken, type VerifyServiceToken } from './verify-service-token.ts'

/** The settings of the use cases. */
export type Settings = LoginSettings & PasswordSettings

/** Every use case, bound to its ports; the same in production and in tests. */
export interface UseCases {
  readonly login: Login
  readonly authenticate: Authenticate
  readonly authenticateDigest: AuthenticateDigest
  /** Records that a verifier used a token of this id. */
  readonly used: (tokenId: string) => void
  readonly authenticateForLogout: Authenticate
  readonly authorize: Authorize
  readonly requireFresh: RequireFresh
  readonly logout: Logout
  readonly introspect: Introspect
  readonly revokePresented: RevokePresented
  readonly sessions: Sessions
  readonly passwords: Passwords
  readonly oneTimeTokens: ManageOneTimeTokens
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
  const { tokenIdleTtlMs = null } = settings
  const issuing = { ...ports, loginTokens: rememberingIssued(ports.loginTokens, unknownTokens) }
  const authenticateDigest = createAuthenticateDigest(ports, unknownTokens, tokenIdleTtlMs)
  const authenticate = createAuthenticate(ports, authenticateDigest)
  const oneTimeTokens = createOneTimeTokens(ports)
  const authenticateForLogout = createAuthenticateForLogout(ports, authenticate)
  return {
    login: createLogin(issuing, settings),
    authenticate,
    authenticateDigest,
    used: (tokenId) => ports.usage.used(tokenId),
    authenticateForLogout,
    authorize: createAuthorize(ports),
    requireFresh: createRequireFresh(ports),
    logout: createLogout(ports),
    introspect: createIntrospect(authenticate),
    revokePresented: createRevokePresented(ports, authenticateForLogout),
    sessions: createSessions(ports, tokenIdleTtlMs),
    passwords: createPasswords(ports, oneTimeTokens, settings),
    oneTimeTokens,
    verifyServiceToken: createVerifyServiceToken(ports),
    customers: createManageCustomers(ports, settings),
    importCustomers: createImportCustomers(ports),
    tokens: createManageTokens(issuing),
    deadline: (timeoutMs = STORE_TIMEOUT_MS) => createDeadline(timeoutMs, ports.clock),
  }
}
