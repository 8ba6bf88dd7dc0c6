import { hash, verify } from '@node-rs/bcrypt'
import type { PasswordHasher } from '../../application/ports.ts'
import { isWholePasswordHash } from '../../domain/password.ts'

/**
 * Passwords by bcrypt. Every verification does the work of the configured cost C: what a cheaper stored hash leaves
 * is filled with decoys, since 2^c + 2^c + 2^(c+1) + … + 2^(C-1) = 2^C. A dearer one is not hidden.
 */
export function bcryptPasswordHasher({ cost }: { readonly cost: number }): PasswordHasher {
  return {
    hash: (password) => hash(password, cost),
    async verify(password, passwordHash) {
      const whole = passwordHash !== null && isWholePasswordHash(passwordHash)
      const right = whole && (await verify(password, passwordHash))
      for (const decoyCost of whole ? from(costOf(passwordHash), cost) : [cost]) {
        await verify(password, decoyOf(decoyCost))
      }
      return right
    },
  }
}

function costOf(passwordHash: string): number {
  return Number(passwordHash.slice(4, 6))
}

function from(first: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i)
}

/** A whole hash that no known password has; verifying against it costs what any hash of this cost does. */
function decoyOf(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`
}
