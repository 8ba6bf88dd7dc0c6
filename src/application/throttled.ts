import { InvalidCredentials, TooManyRequests, Unavailable } from '../domain/errors.ts'
import type { Patience } from './patience.ts'
import { pause } from './pause.ts'
import type { Clock } from './ports/clock.ts'
import type { LoginAttempt, LoginPlace, LoginThrottle } from './ports/login-throttle.ts'
import type { Cancellation } from './requester.ts'

/** How long an attempt waits for a place in all, in milliseconds. */
const LONGEST_WAIT_MS = 2000
const LONGEST_PAUSE_MS = 200
const GIVING_BACK_MS = 1000

/**
 * Answers what `decide` does, counted by the throttle: as a failure where it throws `InvalidCredentials`. Throws
 * `TooManyRequests` without deciding when failures have used up the places, and `Unavailable` where none became free
 * in time or a failure could not be counted.
 */
export async function throttled<T>(
  throttle: LoginThrottle,
  attempt: LoginAttempt,
  patience: Patience,
  clock: Clock,
  signal: Cancellation,
  decide: () => Promise<T>,
): Promise<T> {
  const place = await taken(throttle, attempt, patience, clock, signal)
  try {
    const answer = await decide()
    // The login is done, and may have used up what the request waits for its stores. What cannot be forgotten now is
    // forgotten by time.
    await givenBack(throttle, place, 'succeeded')
    return answer
  } catch (error) {
    // A failure that is not counted is not told either.
    if (error instanceof InvalidCredentials) {
      await patience.wait((waitMs) => throttle.settle(place, 'failed', waitMs))
    } else {
      // Nobody waits for it: the store may be what did not answer.
      givenBack(throttle, place, 'undecided')
    }
    throw error
  }
}

async function givenBack(
  throttle: LoginThrottle,
  place: LoginPlace,
  outcome: 'succeeded' | 'undecided',
): Promise<void> {
  try {
    await throttle.settle(place, outcome, GIVING_BACK_MS)
  } catch {}
}

async function taken(
  throttle: LoginThrottle,
  attempt: LoginAttempt,
  patience: Patience,
  clock: Clock,
  signal: Cancellation,
): Promise<LoginPlace> {
  let leftMs = LONGEST_WAIT_MS
  // Longer from time to time: many who wait must not be what the store is busy with.
  for (let times = 1; ; times *= 2) {
    const admission = await patience.wait((waitMs) => throttle.take(attempt, waitMs))
    if (admission.kind === 'taken') return admission.place
    if (admission.kind === 'refused') throw new TooManyRequests(admission.limit)
    const forMs = Math.min(LONGEST_PAUSE_MS, times * admission.forMs)
    leftMs -= forMs
    if (leftMs < 0) throw new Unavailable()
    await pause(forMs, clock, signal)
  }
}
