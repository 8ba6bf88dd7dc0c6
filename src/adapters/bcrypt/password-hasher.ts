import { hash, verify } from '@node-rs/bcrypt'
import type { PasswordHasher } from '../../application/ports/password-hasher.ts'
import { isWholePasswordHash } from '../../domain/password.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import { decoyCosts, decoyHash, hashPrefix } from './decoys.ts'
import { createHashingQueue, type Place } from './hashing-queue.ts'

/** One round of bcrypt's key schedule, about, in milliseconds; a cost of c has 2^c of them. */
const ROUND_MS = 0.05

/** A hasher that tells how many passwords are being looked at, and how many wait. */
export interface BcryptPasswordHasher extends PasswordHasher {
  load(): { readonly running: number; readonly waiting: number }
}

/**
 * Passwords by bcrypt, on so many threads at once. Every verification does the work of the configured cost: what a
 * cheaper stored hash leaves is filled with decoys. A dearer one is not hidden.
 */
export function bcryptPasswordHasher({
  cost,
  concurrency = 1,
  onDamaged = () => {},
}: {
  readonly cost: number
  /** Fewer than libuv's pool has: files and names are looked up by the rest. */
  readonly concurrency?: number
  /** Told of each stored hash that cannot be verified. */
  readonly onDamaged?: () => void
}): BcryptPasswordHasher {
  const threads = createSemaphore(concurrency)
  const places = createHashingQueue({ threads: concurrency, expectedMs: 2 ** cost * ROUND_MS })

  return {
    hash: (password) => threads.run(() => hash(password, cost)),
    isDated: (passwordHash) => !passwordHash.startsWith(hashPrefix(cost)),
    queue(signal) {
      const place = places.take()
      return {
        verify: (password, passwordHash) =>
          threads.run(() => timed(place, () => verified(password, passwordHash)), signal),
        hash: (password) => threads.run(() => timed(place, () => hash(password, cost)), signal),
        leave: place.leave,
      }
    },
    load: threads.load,
  }

  /** All of it in one turn, decoys included: who waited in between would tell them by the time. */
  async function verified(password: string, passwordHash: string | null): Promise<boolean> {
    const whole = passwordHash !== null && isWholePasswordHash(passwordHash)
    if (passwordHash !== null && !whole) onDamaged()
    const right = whole && (await verify(password, withoutSpareBits(passwordHash)))
    for (const decoyCost of decoyCosts(whole ? costOf(passwordHash) : null, cost)) {
      await verify(password, decoyHash(decoyCost))
    }
    return right
  }
}

async function timed<T>(place: Place, work: () => Promise<T>): Promise<T> {
  const beganMs = performance.now()
  try {
    return await work()
  } finally {
    place.worked(performance.now() - beganMs)
  }
}

const ALPHABET = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/**
 * The last characters of salt and digest have bits of neither, which some programs set. The library refuses such a hash at
 * once: its owner could not log in, and the time of the answer would tell that there is one.
 */
function withoutSpareBits(passwordHash: string): string {
  const cleared = (at: number, used: number) => ALPHABET[ALPHABET.indexOf(passwordHash.charAt(at)) & used]
  return (
    passwordHash.slice(0, 28) + cleared(28, 0b110000) + passwordHash.slice(29, 59) + cleared(59, 0b111100)
  )
}

function costOf(passwordHash: string): number {
  return Number(passwordHash.slice(4, 6))
}
