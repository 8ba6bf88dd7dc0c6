import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ServiceSecrets } from '../../application/ports/secrets.ts'
import type { ServiceCaller, ServiceToken } from '../../domain/service-token.ts'

/** Service tokens that can be replaced while the service runs. */
export interface RotatingServiceSecrets extends ServiceSecrets {
  /** Replaces all configured service tokens at once. */
  rotate(tokens: readonly ServiceToken[]): void
}

/** Compares a text with every configured service token in constant time. Both are hashed first, to the same length. */
export function serviceSecrets(tokens: readonly ServiceToken[]): RotatingServiceSecrets {
  let configured = toDigests(tokens)
  return {
    rotate(others) {
      configured = toDigests(others)
    },
    identify(presented) {
      // Two steps take half as long as the output 'buffer'.
      const digest = Buffer.from(hash('sha256', presented, 'binary'), 'binary')
      let match: ServiceCaller | null = null
      for (const token of configured) {
        if (timingSafeEqual(token.digest, digest)) match = token.caller
      }
      return match
    },
  }
}

/** Returns a new secret for a service token: 256 random bits in base64url. */
export function newServiceSecret(): string {
  return randomBytes(32).toString('base64url')
}

function toDigests(
  tokens: readonly ServiceToken[],
): readonly { readonly caller: ServiceCaller; readonly digest: Buffer }[] {
  return tokens.map(({ name, scopes, secret }) => ({
    caller: { name, scopes },
    digest: hash('sha256', secret, 'buffer'),
  }))
}
