import { protocolInstance } from '../../../src/adapters/postgres/revocation/instance.ts'
import { createAuthenticateForLogout } from '../../../src/application/use-cases/logout.ts'
import { cachedInvalidating, type MakeCached } from '../revocation-model.ts'

/** The parts of the instances: production's, or ones that a test has broken. */
export interface Parts {
  readonly cached: MakeCached
  readonly instance: typeof protocolInstance
  readonly authenticateForLogout: typeof createAuthenticateForLogout
  /** Heartbeats use the listener connection, whose pooler returns them even when it loses every notification. */
  readonly beatsByLink: boolean
  /** The triggers publish a changed customer as the digests of the tokens that they see. */
  readonly customersAsDigests: boolean
}

/** The parts that production uses. */
export const PRODUCTION_PARTS: Parts = {
  cached: cachedInvalidating,
  instance: protocolInstance,
  authenticateForLogout: createAuthenticateForLogout,
  beatsByLink: false,
  customersAsDigests: false,
}
