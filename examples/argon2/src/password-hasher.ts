import { hash, verify } from '@node-rs/argon2'
import { bcryptPasswordHasher, HashingQueue } from 'latchkey/adapters/bcrypt'
import type { HashingRequest, HashingSlot, PasswordHasher } from 'latchkey/ports'
import { decoyHash, isBcrypt, isWhole, parameters } from './hashes.ts'

/** The settings of Argon2id. The defaults are those of the OWASP Password Storage Cheat Sheet. */
export interface Argon2Options {
  /** Memory of one hash, in KiB. */
  readonly memoryKiB?: number
  /** The number of passes over the memory. */
  readonly passes?: number
  /** The number of passwords that are hashed at once: less than the size of libuv's pool, and each takes the memory. */
  readonly concurrency?: number
  /**
   * The cost of stored bcrypt hashes. Each verification then does the work of both, so that its time does not reveal which
   * account has which hash. Null, the default, when none is stored: a bcrypt hash then matches no password.
   */
  readonly bcryptCost?: number | null
}

/** An approximate duration of one pass over 1 KiB, in milliseconds. */
const PASS_MS = 0.0005
/** An approximate duration of one round of bcrypt. A cost of c has 2^c. */
const BCRYPT_ROUND_MS = 0.05
/** The length up to which bcrypt reads all of a password. */
const BCRYPT_BYTES = 72

/** Hashes new passwords with Argon2id, and verifies hashes of bcrypt, which the next login replaces. */
export function argon2PasswordHasher({
  memoryKiB = 19_456,
  passes = 2,
  concurrency = 1,
  bcryptCost = null,
}: Argon2Options = {}): PasswordHasher {
  const options = { memoryCost: memoryKiB, timeCost: passes, parallelism: 1 }
  const prefix = parameters(options)
  const decoy = decoyHash(options)
  const bcryptMs = bcryptCost === null ? 0 : 2 ** bcryptCost * BCRYPT_ROUND_MS
  const queue = new HashingQueue({
    threads: concurrency,
    expectedMs: memoryKiB * passes * PASS_MS + bcryptMs,
  })
  // Only the queue above calls it, so that its own queue is always short.
  const bcrypt = bcryptCost === null ? null : bcryptPasswordHasher({ cost: bcryptCost, concurrency })

  return {
    hash: (password) => queue.run(() => hash(password, options)),
    isDated: (passwordHash) => !passwordHash.startsWith(prefix),
    hasRoom: (request) => queue.hasRoom(request),
    queue(request): HashingSlot {
      const slot = queue.take(request)
      return {
        verify: (password, passwordHash) => slot.run(() => verifyBoth(password, passwordHash, request)),
        hash: (password) => slot.run(() => hash(password, options)),
        rehash: (password, passwordHash) =>
          mayReplace(password, passwordHash)
            ? slot.run(() => hash(password, options))
            : Promise.resolve(null),
        leave: slot.leave,
      }
    },
  }

  async function verifyBoth(
    password: string,
    passwordHash: string | null,
    request: HashingRequest,
  ): Promise<boolean> {
    const own = passwordHash !== null && isWhole(passwordHash) ? passwordHash : null
    const isRight = await verify(own ?? decoy, password)
    const isRightByBcrypt = await verifyByBcrypt(password, own === null ? passwordHash : null, request)
    return own === null ? isRightByBcrypt : isRight
  }

  async function verifyByBcrypt(
    password: string,
    passwordHash: string | null,
    request: HashingRequest,
  ): Promise<boolean> {
    if (bcrypt === null) return false
    const slot = bcrypt.queue(request)
    try {
      return await slot.verify(password, passwordHash)
    } finally {
      slot.leave()
    }
  }
}

/** bcrypt has not compared what comes after 72 bytes: a mistyped ending must not become part of the password. */
function mayReplace(password: string, passwordHash: string): boolean {
  return !isBcrypt(passwordHash) || Buffer.byteLength(password) <= BCRYPT_BYTES
}
