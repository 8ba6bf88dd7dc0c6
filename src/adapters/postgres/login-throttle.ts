import { createHash } from 'node:crypto'
import type { LoginAdmission, LoginAttempt, LoginThrottle } from '../../application/ports/login-throttle.ts'
import { guessesAllowed, type LoginLimit, type LoginLimits } from '../../domain/login-limit.ts'
import type { DatabasePool } from './connection/pool.ts'
import type { Row } from './connection/session.ts'

const TAKE = {
  name: 'take_login_place',
  text: `
    select * from latchkey_take_login_place(
      $1, $2, $3, $4, $5 * interval '1 millisecond', $6, $7 * interval '1 millisecond', $8)`,
}

const SETTLE = {
  name: 'settle_login_place',
  text: `
    select latchkey_settle_login_place(
      $1, $2, $3, $4, $5, $6 * interval '1 millisecond', $7 * interval '1 millisecond')`,
}

const PRUNE = {
  name: 'prune_login_attempts',
  text: `
    delete from login_attempts where key in (
      select key from login_attempts where forget_at <= now() order by forget_at limit $1 for update skip locked)`,
}

/** How long to wait for an attempt that is being decided. */
const POLL_MS = 25

/** Counts in the table `login_attempts`: exact among all instances on the database. */
export function postgresLoginThrottle(pool: DatabasePool, limits: LoginLimits): LoginThrottle {
  const { loginLimitAccount: account, loginLimitAddress: address } = limits
  const guesses = guessesAllowed(limits)

  return {
    take: (attempt, timeoutMs) =>
      pool.run(timeoutMs, async (session) => {
        const { rows } = await session.query(TAKE, [
          ...keysOf(attempt),
          ...of(account),
          ...of(address),
          guesses,
        ])
        return admissionOf(rows[0] as Row, attempt)
      }),

    settle: (place, outcome, timeoutMs) =>
      pool.run(timeoutMs, async (session) => {
        const windows = [account?.windowMs ?? null, address?.windowMs ?? null]
        await session.query(SETTLE, [...keysOf(place), place.takenAtMs, outcome, ...windows])
      }),
  }

  function admissionOf({ kind, name, ms, pause_ms }: Row, attempt: LoginAttempt): LoginAdmission {
    if (kind === 'taken') return { kind, place: { ...attempt, takenAtMs: Math.round(ms as number) } }
    if (kind === 'wait') return { kind, forMs: POLL_MS }
    const retryAfterMs = ms as number
    if (name === 'guesses') {
      return { kind: 'refused', limit: { name, failures: 1, windowMs: pause_ms as number, retryAfterMs } }
    }
    const limit = (name === 'account' ? account : address) as LoginLimit
    return { kind: 'refused', limit: { ...limit, name: name as 'account' | 'address', retryAfterMs } }
  }
}

/** Deletes at most so many rows that say nothing any more; answers how many. */
export function pruneLoginAttempts(pool: DatabasePool, limit: number, timeoutMs: number): Promise<number> {
  return pool.run(timeoutMs, async (session) => (await session.query(PRUNE, [limit])).count)
}

/** Of account and address, of the address, of the account; e-mails of nobody's must not be stored. */
function keysOf({ account, address }: LoginAttempt): readonly Buffer[] {
  return [`pair\0${account}\0${address}`, `address\0${address}`, `account\0${account}`].map((text) =>
    createHash('sha256').update(text).digest(),
  )
}

function of(limit: LoginLimit | null): readonly (number | null)[] {
  return [limit?.failures ?? null, limit?.windowMs ?? null]
}
