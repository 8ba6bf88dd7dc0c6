import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import type { HashingLoad } from '../../application/ports/metrics.ts'
import type { PasswordHasher } from '../../application/ports/password-hasher.ts'
import { exceedsBcrypt, isWholePasswordHash, SHA256_PREFIX } from '../../domain/password.ts'
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
 * configured cost: decoys pad a cheaper stored hash. A more expensive hash takes longer. Passwords of more than the 72 bytes
 * that bcrypt reads are stored in Django's form, as the hash of their SHA-256.
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
    hash: (password) => queue.run(() => hashWhole(password)),
    isDated: (passwordHash) => !withoutForm(passwordHash).startsWith(hashPrefix(cost)),
    queue(request) {
      const slot = queue.take(request)
      return {
        verify: (password, passwordHash) => slot.run(() => verifyPadded(password, passwordHash)),
        hash: (password) => slot.run(() => hashWhole(password)),
        rehash: (password, passwordHash) =>
          slot.run(() => hashIn(hasSha256Form(passwordHash) ? SHA256_PREFIX : '', password)),
        leave: slot.leave,
      }
    },
    hasRoom: (request) => queue.hasRoom(request),
    load: () => queue.load(),
  }

  /** Verifies with all decoys on one thread: a wait between them would reveal them by the total time. */
  async function verifyPadded(password: string, passwordHash: string | null): Promise<boolean> {
    const digest = sha256(password)
    const whole = passwordHash !== null && isWholePasswordHash(passwordHash)
    if (passwordHash !== null && !whole) onDamaged()
    const inner = whole ? withoutForm(passwordHash) : null
    const input = whole && hasSha256Form(passwordHash) ? digest : password
    const right = inner !== null && (await verify(input, withoutSpareBits(inner)))
    for (const decoyCost of decoyCosts(inner === null ? null : hashCost(inner), cost)) {
      await verify(password, decoyHash(decoyCost))
    }
    return right
  }

  function hashWhole(password: string): Promise<string> {
    return hashIn(exceedsBcrypt(password) ? SHA256_PREFIX : '', password)
  }

  async function hashIn(form: '' | typeof SHA256_PREFIX, password: string): Promise<string> {
    return form + (await hash(form === '' ? password : sha256(password), cost))
  }
}

/** Not the raw digest: it may contain NUL, where bcrypt stops. */
function sha256(password: string): string {
  return createHash('sha256').update(password).digest('hex')
}

function hasSha256Form(passwordHash: string): boolean {
  return passwordHash.startsWith(SHA256_PREFIX)
}

function withoutForm(passwordHash: string): string {
  return hasSha256Form(passwordHash) ? passwordHash.slice(SHA256_PREFIX.length) : passwordHash
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
