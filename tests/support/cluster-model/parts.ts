import { protocolInstance } from '../../../src/adapters/postgres/revocation/instance.ts'
import { cachedLoginTokens } from '../../../src/application/login-tokens/cached.ts'
import { createAuthenticateForLogout } from '../../../src/application/use-cases/logout.ts'
import type { MakeCached } from '../revocation-model.ts'

/** What the cluster is made of: the parts of the house, or some that a test has made wrong. */
export interface Parts {
  readonly cached: MakeCached
  readonly instance: typeof protocolInstance
  readonly authenticateForLogout: typeof createAuthenticateForLogout
  /** Heartbeats take the link, whose pooler returns them even when it loses every notification. */
  readonly beatsByLink: boolean
  /** A changed customer is announced by the digests of the tokens that the trigger sees. */
  readonly customersAsDigests: boolean
}

/** The parts that the service runs on. */
export const HOUSE: Parts = {
  cached: cachedLoginTokens,
  instance: protocolInstance,
  authenticateForLogout: createAuthenticateForLogout,
  beatsByLink: false,
  customersAsDigests: false,
}
