import type { Digest } from '../../domain/login-token.ts'

/** A token's text and its digest; the text is handed out once and never stored. */
export interface IssuedSecret {
  readonly secret: string
  readonly digest: Digest
}

export interface TokenSecrets {
  /** A new secret from a cryptographic source. */
  issue(): IssuedSecret
  /** The digest of a presented text, or null when it cannot be a token: no look-up is needed then. */
  digestOf(presented: string): Digest | null
}

export interface ServiceSecrets {
  /** The name of the configured service token that was presented, or null; takes the same time for any text. */
  nameOf(presented: string): string | null
}
