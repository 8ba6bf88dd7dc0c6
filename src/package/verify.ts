/** Verifies tokens in another program, with a cache that is revoked exactly. */

export type { VerifierEvent } from '../adapters/verifier/connection.ts'
export type { RemoteVerifierOptions } from '../adapters/verifier/remote-verifier.ts'
export {
  hasAbility,
  type Verified,
  type Verifier,
  VerifierUnavailable,
} from '../application/verifiers/verifier.ts'
export type { DatabaseVerifierOptions } from '../composition/database-verifier.ts'
export { createVerifier } from '../composition/verifier.ts'
