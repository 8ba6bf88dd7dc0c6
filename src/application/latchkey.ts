import { type AdministerCustomers, makeAdministerCustomers } from './administer-customers.ts'
import { type AdministerTokens, makeAdministerTokens } from './administer-tokens.ts'
import { type Authenticate, type Authorise, makeAuthenticate, makeAuthorise } from './authenticate.ts'
import { type ImportCustomers, makeImportCustomers } from './import-customers.ts'
import { type Login, type LoginSettings, makeLogin } from './login.ts'
import { type Logout, makeAuthenticateForLogout, makeLogout } from './logout.ts'
import { type Patience, patienceOf } from './patience.ts'
import type { Ports } from './ports/ports.ts'
import { rememberIssued, UnknownTokenLimit } from './unknown-token-limit.ts'
import { makeVerifyServiceToken, type VerifyServiceToken } from './verify-service-token.ts'

/** What the use cases need to know beside their ports. */
export type Settings = LoginSettings

/** Every use case, wired; the same in production and in tests. */
export interface Latchkey {
  readonly login: Login
  readonly authenticate: Authenticate
  readonly authenticateForLogout: Authenticate
  readonly authorise: Authorise
  readonly logout: Logout
  readonly verifyServiceToken: VerifyServiceToken
  readonly customers: AdministerCustomers
  readonly importCustomers: ImportCustomers
  readonly tokens: AdministerTokens
  /** A new request's patience with the stores. */
  readonly patience: () => Patience
}

/** How long one request waits for its stores in all, in milliseconds. */
export const STORE_WAIT_MS = 1000

/** Wires the use cases to a choice of adapters. */
export function latchkey(ports: Ports, settings: Settings): Latchkey {
  const unknownTokens = new UnknownTokenLimit(ports.clock)
  const issuing = { ...ports, loginTokens: rememberIssued(ports.loginTokens, unknownTokens) }
  const authenticate = makeAuthenticate(ports, unknownTokens)
  return {
    login: makeLogin(issuing, settings),
    authenticate,
    authenticateForLogout: makeAuthenticateForLogout(ports, authenticate),
    authorise: makeAuthorise(ports),
    logout: makeLogout(ports),
    verifyServiceToken: makeVerifyServiceToken(ports),
    customers: makeAdministerCustomers(ports),
    importCustomers: makeImportCustomers(ports),
    tokens: makeAdministerTokens(issuing),
    patience: () => patienceOf(STORE_WAIT_MS, ports.clock),
  }
}
