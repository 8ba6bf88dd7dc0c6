import type { LoginAttempt, LoginOutcome, LoginThrottle } from '../../application/ports/login-throttle.ts'
import { type ExceededLimit, guessLimit, type LoginLimits } from '../../domain/login-limit.ts'
import type { Clock } from '../../lib/clock.ts'
import { type AttemptCounts, createAttemptCounter, hasNoSlot } from './login-attempts.ts'

/** How long a caller waits before it tries again, while other attempts are undecided. */
const POLL_MS = 25
/** How long an account stays known at an address after a login. */
const KNOWN_MS = 30 * 86_400_000

/** Counts in the memory of this process, under the latest 30,000 to 60,000 keys of each kind. */
export function memoryLoginThrottle(limits: LoginLimits, clock: Pick<Clock, 'monotonicMs'>): LoginThrottle {
  const { loginLimitAccount, loginLimitAddress } = limits
  const { burst, pauseMs } = guessLimit(limits)
  const pairs = createAttemptCounter(loginLimitAccount?.windowMs ?? 0)
  const addresses = createAttemptCounter(loginLimitAddress?.windowMs ?? 0)
  const accounts = createAttemptCounter(0)
  /** How often the failures of an account were forgotten, as a count that does not expire. Earlier failures have other keys. */
  const epochs = createAttemptCounter(Number.POSITIVE_INFINITY)

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
      const isKnown = hasLoggedIn(pair.counted, nowMs)
      const usedUp = isKnown ? null : exceededGuesses(account.counted, nowMs)
      if (usedUp !== null) return { kind: 'refused', limit: usedUp }
      if (
        hasNoSlot(pair.counted, loginLimitAccount?.failures) ||
        hasNoSlot(address.counted, loginLimitAddress?.failures) ||
        (!isKnown && missingMs(account.counted, account.counted.held.length + 1, nowMs) > 0)
      ) {
        return { kind: 'wait', forMs: POLL_MS }
      }
      for (const { counted, set } of isKnown ? [pair, address] : [pair, address, account]) {
        set({ ...counted, held: [...counted.held, nowMs] })
      }
      return { kind: 'taken', slot: { ...attempt, takenAtMs: nowMs, isKnown } }
    },

    async settle(slot, outcome) {
      const nowMs = Math.floor(clock.monotonicMs())
      const [pair, address, account] = countsFor(slot, nowMs)
      pair.set(applyOutcome(pair.counted, slot.takenAtMs, outcome, nowMs, { succeededMs: nowMs }))
      address.set(applyOutcome(address.counted, slot.takenAtMs, outcome, nowMs, null))
      if (slot.isKnown) return
      const { fullAtMs, ...others } = account.counted
      account.set({
        ...others,
        fullAtMs: outcome === 'failed' ? Math.max(fullAtMs, nowMs) + pauseMs : fullAtMs,
        held: withoutOne(others.held, slot.takenAtMs),
      })
    },

    async forget(account) {
      const { counted, set } = epochs(account, 0)
      set({ ...counted, failures: counted.failures + 1 })
    },
  }

  function countsFor(attempt: LoginAttempt, nowMs: number) {
    const { account, address } = attempt
    const epoch = epochs(account, 0).counted.failures
    return [
      pairs(`${account}\0${address}\0${epoch}`, nowMs),
      addresses(address, nowMs),
      accounts(`${account}\0${epoch}`, nowMs),
    ] as const
  }

  /** Whether the account has logged in from this address lately, so that guesses from elsewhere do not block it. */
  function hasLoggedIn({ succeededMs, failuresSinceSuccess, held }: AttemptCounts, nowMs: number): boolean {
    if (succeededMs === null || nowMs >= succeededMs + KNOWN_MS) return false
    return failuresSinceSuccess + held.length < burst
  }

  /** Returns the limit when no guess is left. The last one is not waited for while it is undecided. */
  function exceededGuesses(account: AttemptCounts, nowMs: number): ExceededLimit | null {
    const isTaken = account.held.length > 0 && missingMs(account, 2, nowMs) > 0
    const leftMs = missingMs(account, 1, nowMs)
    if (leftMs <= 0 && !isTaken) return null
    return {
      name: 'guesses',
      failures: 1,
      windowMs: pauseMs,
      retryAfterMs: leftMs > 0 ? leftMs : pauseMs,
    }
  }

  /** Returns the time until the bucket has this number of tokens; not positive when it has them. */
  function missingMs({ fullAtMs }: AttemptCounts, tokens: number, nowMs: number): number {
    return Math.max(0, fullAtMs - nowMs) + (tokens - burst) * pauseMs
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
  const held = withoutOne(counted.held, takenAtMs)
  if (outcome === 'failed') {
    return {
      ...counted,
      failures: failures + 1,
      sinceMs: failures === 0 ? nowMs : sinceMs,
      failuresSinceSuccess: succeededMs === null ? 0 : failuresSinceSuccess + 1,
      held,
    }
  }
  if (outcome === 'undecided' || success === null) return { ...counted, held }
  return { ...counted, failures: 0, sinceMs: 0, failuresSinceSuccess: 0, held, ...success }
}

function withoutOne(held: readonly number[], takenAtMs: number): readonly number[] {
  const index = held.indexOf(takenAtMs)
  return index < 0 ? held : held.toSpliced(index, 1)
}
