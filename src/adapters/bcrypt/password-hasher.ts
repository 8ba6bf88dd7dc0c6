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
      for (const decoyCost of decoyCosts(whole ? costOf(passwordHash) : null, cost)) {
        await verify(password, decoyOf(decoyCost))
      }
      return right
    },
  }
}

/** The costs of the decoys that fill a verification up to `cost`; `storedCost` is null where no hash was verified. */
export function decoyCosts(storedCost: number | null, cost: number): readonly number[] {
  return storedCost === null
    ? [cost]
    : Array.from({ length: Math.max(0, cost - storedCost) }, (_, step) => storedCost + step)
}

function costOf(passwordHash: string): number {
  return Number(passwordHash.slice(4, 6))
}

/** A whole hash that no known password has; verifying against it costs what any hash of this cost does. */
export function decoyOf(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`
}
