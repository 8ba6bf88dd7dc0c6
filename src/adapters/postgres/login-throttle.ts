import { createHash } from 'node:crypto'
import type {
  AccountFailures,
  LoginAdmission,
  LoginAttempt,
  LoginThrottle,
} from '../../application/ports/login-throttle.ts'
import { guessLimit, type LoginLimit, type LoginLimits } from '../../domain/login-limit.ts'
import type { DatabasePool } from './connection/pool.ts'
import type { Row } from './connection/session.ts'

const TAKE = {
  name: 'take_login_slot',
  text: `
    select kind, name, ms, is_known from latchkey_take_login_slot(
      $1, $2, $3, $4, $5 * interval '1 millisecond', $6, $7 * interval '1 millisecond',
      $8, $9 * interval '1 millisecond')`,
}

const SETTLE = {
  name: 'settle_login_slot',
  text: `
    select latchkey_settle_login_slot(
      $1, $2, $3, $4, $5, $6, $7 * interval '1 millisecond', $8 * interval '1 millisecond',
      $9 * interval '1 millisecond')`,
}

// The rows of an account share the first half of their keys; its own row is the last of the range, and is locked last, as by
// a login.
const FORGET = {
  name: 'forget_login_failures',
  text: `
    with counted as materialized (
      select login_attempts.key
        from (select (latchkey_login_keys('', '', $1))[3] as key) as account
             join login_attempts on login_attempts.key between substr(account.key, 1, 16) and account.key
       order by login_attempts.key
         for update of login_attempts)
    update login_attempts set failures = 0, failures_since_success = 0, full_at = null
     where key in (select key from counted)`,
}

const READ = {
  name: 'read_login_failures',
  text: `
    select coalesce(sum(failures) filter (where is_counted), 0)::integer as failures,
           count(*) filter (where is_counted and failures >= $2::integer)::integer as locked,
           max(date_part('epoch', full_at - $4 * interval '1 millisecond') * 1000)
             filter (where full_at > now() + $4 * interval '1 millisecond') as guesses_until
      from (select login_attempts.*, login_attempts.key <> account.key
                     and failures > 0 and since > now() - $3 * interval '1 millisecond' as is_counted
              from (select (latchkey_login_keys('', '', $1))[3] as key) as account
                   join login_attempts on login_attempts.key between substr(account.key, 1, 16) and account.key
           ) as counted`,
}

const PRUNE = {
  name: 'prune_login_attempts',
  text: `
    delete from login_attempts where key in (
      select key from login_attempts where forget_at <= now() order by forget_at limit $1 for update skip locked)`,
}

/** How long a caller waits before it tries again, while other attempts are undecided. */
const POLL_MS = 25

/** Counts in the table `login_attempts`, exactly over all instances of the database. */
export function postgresLoginThrottle(pool: DatabasePool, limits: LoginLimits): LoginThrottle {
  const { loginLimitAccount: account, loginLimitAddress: address } = limits
  const { burst, pauseMs } = guessLimit(limits)

  return {
    take: (attempt, timeoutMs) =>
      pool.run(timeoutMs, async (session) => {
        const { rows } = await session.query(TAKE, [
          ...toKeys(attempt),
          ...toParameters(account),
          ...toParameters(address),
          burst,
          pauseMs,
        ])
        return toAdmission(rows[0] as Row, attempt)
      }),

    settle: (slot, outcome, timeoutMs) =>
      pool.run(timeoutMs, async (session) => {
        const windows = [account?.windowMs ?? null, address?.windowMs ?? null, pauseMs]
        await session.query(SETTLE, [...toKeys(slot), slot.takenAtMs, slot.isKnown, outcome, ...windows])
      }),

    forget: (account, timeoutMs) =>
      pool.run(timeoutMs, async (session) => {
        await session.query(FORGET, [toKeys({ account, address: '' })[2]])
      }),

    read: (name, timeoutMs) =>
      pool.run(timeoutMs, async (session) => {
        const [, , key] = toKeys({ account: name, address: '' })
        const { rows } = await session.query(READ, [key, ...toParameters(account), (burst - 1) * pauseMs])
        return toFailures(rows[0] as Row)
      }),
  }

  function toAdmission({ kind, name, ms, is_known }: Row, attempt: LoginAttempt): LoginAdmission {
    if (kind === 'taken') {
      const takenAtMs = Math.round(ms as number)
      return { kind, slot: { ...attempt, takenAtMs, isKnown: is_known as boolean } }
    }
    if (kind === 'wait') return { kind, forMs: POLL_MS }
    const retryAfterMs = ms as number
    if (name === 'guesses') {
      return { kind: 'refused', limit: { name, failures: 1, windowMs: pauseMs, retryAfterMs } }
    }
    const limit = (name === 'account' ? account : address) as LoginLimit
    return { kind: 'refused', limit: { ...limit, name: name as 'account' | 'address', retryAfterMs } }
  }
}

function toFailures({ failures, locked, guesses_until: untilMs }: Row): AccountFailures {
  return {
    failures: failures as number,
    lockedAddresses: locked as number,
    guessesUntilMs: untilMs === null ? null : Math.ceil(untilMs as number),
  }
}

/** Deletes at most `limit` rows whose counts have expired; returns their number. */
export function pruneLoginAttempts(pool: DatabasePool, limit: number, timeoutMs: number): Promise<number> {
  return pool.run(timeoutMs, async (session) => (await session.query(PRUNE, [limit])).count)
}

/**
 * Returns the keys of the pair, of the address and of the account. They are hashed, because the e-mail of an attempt may
 * belong to no customer. The database hashes them again, with the secret of `login_attempts_secret`.
 */
function toKeys({ account, address }: LoginAttempt): readonly Buffer[] {
  return [`pair\0${account}\0${address}`, `address\0${address}`, `account\0${account}`].map((text) =>
    createHash('sha256').update(text).digest(),
  )
}

function toParameters(limit: LoginLimit | null): readonly (number | null)[] {
  return [limit?.failures ?? null, limit?.windowMs ?? null]
}
