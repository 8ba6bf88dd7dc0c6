import type { Digest } from '../../domain/login-token.ts'
import type { ServiceCaller } from '../../domain/service-token.ts'

/** The text of a new token and its digest. The text is shown once and never stored. */
export interface IssuedSecret {
  readonly secret: string
  readonly digest: Digest
}

/** Creates and parses the secrets of tokens. No method throws or waits. */
export interface TokenSecrets {
  /** Returns a new secret from a cryptographic random source. */
  issue(): IssuedSecret
  /** Returns the digest of a presented text, or null when the text cannot be a token, so that no lookup is needed. */
  digestOf(presented: string): Digest | null
}

/** The configured service tokens. */
export interface ServiceSecrets {
  /**
   * Returns the name and the scopes of the service token with this secret, or null. Takes the same time for any text.
   * Neither throws nor waits.
   */
  identify(presented: string): ServiceCaller | null
}
