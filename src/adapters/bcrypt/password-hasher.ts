import { createRequire } from 'node:module'
import type { HashingLoad } from '../../application/ports/metrics.ts'
import type { PasswordHasher } from '../../application/ports/password-hasher.ts'
import { isWholePasswordHash } from '../../domain/password.ts'
import { decoyCosts, decoyHash, hashPrefix } from './decoys.ts'
import { HashingQueue } from './hashing-queue.ts'

// Not by an import: if it fails, Node 20 reports the failure a second time, as an unhandled rejection.
const { hash, verify } = createRequire(import.meta.url)('@node-rs/bcrypt') as typeof import('@node-rs/bcrypt')

/** The approximate time of one round of bcrypt's key schedule, in milliseconds. A cost of c has 2^c rounds. */
const ROUND_MS = 0.05

/** A hasher that reports its load. */
export interface BcryptPasswordHasher extends PasswordHasher {
  load(): HashingLoad
}

/**
 * Hashes and verifies passwords with bcrypt on at most `concurrency` threads. Every verification does the work of the
 * configured cost: decoys pad a cheaper stored hash. A more expensive hash takes longer.
 */
export function bcryptPasswordHasher({
  cost,
  concurrency = 1,
  onDamaged = () => {},
}: {
  readonly cost: number
  /** 1 by default. Less than the size of libuv's pool, whose other threads access files and resolve names. */
  readonly concurrency?: number
  /** Called for each damaged hash, which matches no password. */
  readonly onDamaged?: () => void
}): BcryptPasswordHasher {
  const queue = new HashingQueue({ threads: concurrency, expectedMs: 2 ** cost * ROUND_MS })

  return {
    hash: (password) => queue.run(() => hash(password, cost)),
    isDated: (passwordHash) => !passwordHash.startsWith(hashPrefix(cost)),
    queue(request) {
      const slot = queue.take(request)
      return {
        verify: (password, passwordHash) => slot.run(() => verifyPadded(password, passwordHash)),
        hash: (password) => slot.run(() => hash(password, cost)),
        leave: slot.leave,
      }
    },
    hasRoom: (request) => queue.hasRoom(request),
    load: () => queue.load(),
  }

  /** Verifies with all decoys on one thread: a wait between them would reveal them by the total time. */
  async function verifyPadded(password: string, passwordHash: string | null): Promise<boolean> {
    const whole = passwordHash !== null && isWholePasswordHash(passwordHash)
    if (passwordHash !== null && !whole) onDamaged()
    const right = whole && (await verify(password, withoutSpareBits(passwordHash)))
    for (const decoyCost of decoyCosts(whole ? hashCost(passwordHash) : null, cost)) {
      await verify(password, decoyHash(decoyCost))
    }
    return right
  }
}

const ALPHABET = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/**
 * Clears the unused bits in the last characters of salt and digest, which some programs set. The library refuses such a
 * hash at once: its customer could not log in, and the response time would reveal that the account exists.
 */
function withoutSpareBits(passwordHash: string): string {
  const cleared = (at: number, used: number) => ALPHABET[ALPHABET.indexOf(passwordHash.charAt(at)) & used]
  return (
    passwordHash.slice(0, 28) + cleared(28, 0b110000) + passwordHash.slice(29, 59) + cleared(59, 0b111100)
  )
}

function hashCost(passwordHash: string): number {
  return Number(passwordHash.slice(4, 6))
}
