import type { LoginAttempt, LoginOutcome, LoginThrottle } from '../../application/ports/login-throttle.ts'
import {
  type ExceededLimit,
  guessesAllowed,
  guessPauseMs,
  type LoginLimits,
} from '../../domain/login-limit.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Counted, counter, isFull } from './login-attempts.ts'

/** How long to wait for an attempt that is being decided. */
const POLL_MS = 25
const LONG_MS = 30 * 86_400_000

/** Counts within this process, under the latest 30,000 to 60,000 keys of each kind; gone when the process ends. */
export function memoryLoginThrottle(limits: LoginLimits, clock: Pick<Clock, 'monotonicMs'>): LoginThrottle {
  const { loginLimitAccount, loginLimitAddress } = limits
  const guesses = guessesAllowed(limits)
  const pairs = counter(loginLimitAccount?.windowMs ?? 0)
  const addresses = counter(loginLimitAddress?.windowMs ?? 0)
  const accounts = counter(LONG_MS)

  return {
    async take(attempt) {
      const nowMs = Math.floor(clock.monotonicMs())
      const [pair, address, account] = kept(attempt, nowMs)
      for (const [name, limit, { failures, sinceMs }] of [
        ['account', loginLimitAccount, pair.counted],
        ['address', loginLimitAddress, address.counted],
      ] as const) {
        if (limit === null || failures < limit.failures) continue
        const retryAfterMs = sinceMs + limit.windowMs - nowMs
        return { kind: 'refused', limit: { ...limit, name, retryAfterMs } }
      }
      const isStranger = !hasLoggedIn(pair.counted, nowMs)
      const wait = isStranger ? pauseOf(account.counted, nowMs) : null
      if (wait !== null) return { kind: 'refused', limit: wait }
      if (
        isFull(pair.counted, loginLimitAccount?.failures) ||
        isFull(address.counted, loginLimitAddress?.failures) ||
        (isStranger && account.counted.failures < guesses && isFull(account.counted, guesses))
      ) {
        return { kind: 'wait', forMs: POLL_MS }
      }
      for (const { counted, keep } of [pair, address, account]) {
        keep({ ...counted, held: [...counted.held, nowMs] })
      }
      return { kind: 'taken', place: { ...attempt, takenAtMs: nowMs } }
    },

    async settle(place, outcome) {
      const nowMs = Math.floor(clock.monotonicMs())
      const [pair, address, account] = kept(place, nowMs)
      pair.keep(settled(pair.counted, place.takenAtMs, outcome, nowMs, { succeededMs: nowMs }))
      address.keep(settled(address.counted, place.takenAtMs, outcome, nowMs, null))
      account.keep({
        ...settled(account.counted, place.takenAtMs, outcome, nowMs, { succeededMs: null }),
        // Those in a row: the pause counts from the last of them.
        ...(outcome === 'failed' ? { sinceMs: nowMs } : {}),
      })
    },
  }

  function kept(attempt: LoginAttempt, nowMs: number) {
    const { account, address } = attempt
    return [
      pairs(`${account}\0${address}`, nowMs),
      addresses(address, nowMs),
      accounts(account, nowMs),
    ] as const
  }

  /** Whether the account has logged in here lately: then no stranger's guesses stand in its way. */
  function hasLoggedIn({ succeededMs, failuresSinceSuccess, held }: Counted, nowMs: number): boolean {
    if (succeededMs === null || nowMs >= succeededMs + LONG_MS) return false
    return failuresSinceSuccess + held.length < guesses
  }

  function pauseOf({ failures, sinceMs, held }: Counted, nowMs: number): ExceededLimit | null {
    if (failures < guesses) return null
    const windowMs = guessPauseMs(failures - guesses)
    const leftMs = sinceMs + windowMs - nowMs
    if (leftMs <= 0 && held.length === 0) return null
    return { name: 'guesses', failures: 1, windowMs, retryAfterMs: leftMs > 0 ? leftMs : windowMs }
  }
}

/** `success` is what a success leaves behind, and null where it changes nothing. */
function settled(
  counted: Counted,
  takenAtMs: number,
  outcome: LoginOutcome,
  nowMs: number,
  success: Pick<Counted, 'succeededMs'> | null,
): Counted {
  const { failures, sinceMs, succeededMs, failuresSinceSuccess } = counted
  const place = counted.held.indexOf(takenAtMs)
  const held = place < 0 ? counted.held : counted.held.toSpliced(place, 1)
  if (outcome === 'failed') {
    return {
      failures: failures + 1,
      sinceMs: failures === 0 ? nowMs : sinceMs,
      succeededMs,
      failuresSinceSuccess: succeededMs === null ? 0 : failuresSinceSuccess + 1,
      held,
    }
  }
  if (outcome === 'undecided' || success === null) return { ...counted, held }
  return { failures: 0, sinceMs: 0, failuresSinceSuccess: 0, held, ...success }
}
