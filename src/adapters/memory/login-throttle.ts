import type { LoginAttempt, LoginOutcome, LoginThrottle } from '../../application/ports/login-throttle.ts'
import {
  type ExceededLimit,
  guessesAllowed,
  guessPauseMs,
  type LoginLimits,
} from '../../domain/login-limit.ts'
import type { Clock } from '../../lib/clock.ts'
import { type AttemptCounts, createAttemptCounter, hasNoSlot } from './login-attempts.ts'

/** How long a caller waits before it tries again, while other attempts are undecided. */
const POLL_MS = 25
const RETENTION_MS = 30 * 86_400_000

/** Counts in the memory of this process, under the latest 30,000 to 60,000 keys of each kind. */
export function memoryLoginThrottle(limits: LoginLimits, clock: Pick<Clock, 'monotonicMs'>): LoginThrottle {
  const { loginLimitAccount, loginLimitAddress } = limits
  const guesses = guessesAllowed(limits)
  const pairs = createAttemptCounter(loginLimitAccount?.windowMs ?? 0)
  const addresses = createAttemptCounter(loginLimitAddress?.windowMs ?? 0)
  const accounts = createAttemptCounter(RETENTION_MS)

  return {
    async take(attempt) {
      const nowMs = Math.floor(clock.monotonicMs())
      const [pair, address, account] = countsFor(attempt, nowMs)
      for (const [name, limit, { failures, sinceMs }] of [
        ['account', loginLimitAccount, pair.counted],
        ['address', loginLimitAddress, address.counted],
      ] as const) {
        if (limit === null || failures < limit.failures) continue
        const retryAfterMs = sinceMs + limit.windowMs - nowMs
        return { kind: 'refused', limit: { ...limit, name, retryAfterMs } }
      }
      const isStranger = !hasLoggedIn(pair.counted, nowMs)
      const wait = isStranger ? remainingPause(account.counted, nowMs) : null
      if (wait !== null) return { kind: 'refused', limit: wait }
      if (
        hasNoSlot(pair.counted, loginLimitAccount?.failures) ||
        hasNoSlot(address.counted, loginLimitAddress?.failures) ||
        (isStranger && account.counted.failures < guesses && hasNoSlot(account.counted, guesses))
      ) {
        return { kind: 'wait', forMs: POLL_MS }
      }
      for (const { counted, set } of [pair, address, account]) {
        set({ ...counted, held: [...counted.held, nowMs] })
      }
      return { kind: 'taken', slot: { ...attempt, takenAtMs: nowMs } }
    },

    async settle(slot, outcome) {
      const nowMs = Math.floor(clock.monotonicMs())
      const [pair, address, account] = countsFor(slot, nowMs)
      pair.set(applyOutcome(pair.counted, slot.takenAtMs, outcome, nowMs, { succeededMs: nowMs }))
      address.set(applyOutcome(address.counted, slot.takenAtMs, outcome, nowMs, null))
      account.set({
        ...applyOutcome(account.counted, slot.takenAtMs, outcome, nowMs, { succeededMs: null }),
        // The pause counts from the last failure in a row.
        ...(outcome === 'failed' ? { sinceMs: nowMs } : {}),
      })
    },
  }

  function countsFor(attempt: LoginAttempt, nowMs: number) {
    const { account, address } = attempt
    return [
      pairs(`${account}\0${address}`, nowMs),
      addresses(address, nowMs),
      accounts(account, nowMs),
    ] as const
  }

  /** Whether the account has logged in from this address lately, so that guesses from elsewhere do not block it. */
  function hasLoggedIn({ succeededMs, failuresSinceSuccess, held }: AttemptCounts, nowMs: number): boolean {
    if (succeededMs === null || nowMs >= succeededMs + RETENTION_MS) return false
    return failuresSinceSuccess + held.length < guesses
  }

  function remainingPause({ failures, sinceMs, held }: AttemptCounts, nowMs: number): ExceededLimit | null {
    if (failures < guesses) return null
    const windowMs = guessPauseMs(failures - guesses)
    const leftMs = sinceMs + windowMs - nowMs
    if (leftMs <= 0 && held.length === 0) return null
    return { name: 'guesses', failures: 1, windowMs, retryAfterMs: leftMs > 0 ? leftMs : windowMs }
  }
}

/** Returns the counts after an outcome. `success` is what a success sets, or null when it changes nothing. */
function applyOutcome(
  counted: AttemptCounts,
  takenAtMs: number,
  outcome: LoginOutcome,
  nowMs: number,
  success: Pick<AttemptCounts, 'succeededMs'> | null,
): AttemptCounts {
  const { failures, sinceMs, succeededMs, failuresSinceSuccess } = counted
  const index = counted.held.indexOf(takenAtMs)
  const held = index < 0 ? counted.held : counted.held.toSpliced(index, 1)
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
