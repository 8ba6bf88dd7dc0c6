import { InvalidCredentials, TooManyRequests, Unavailable } from '../../domain/errors.ts'
import type { Cancellation } from '../../lib/cancellation.ts'
import type { Clock } from '../../lib/clock.ts'
import { wait } from '../../lib/wait.ts'
import type { Deadline } from '../deadline.ts'
import type { LoginAttempt, LoginSlot, LoginThrottle } from '../ports/login-throttle.ts'

/** How long an attempt waits for a place in all, in milliseconds. */
const LONGEST_WAIT_MS = 2000
const LONGEST_PAUSE_MS = 200
const GIVING_BACK_MS = 1000

/**
 * Answers what `decide` does, counted by the throttle: as a failure where it throws `InvalidCredentials`. Throws
 * `TooManyRequests` without deciding when failures have used up the places, and `Unavailable` where none became free
 * in time or a failure could not be counted.
 */
export async function withLoginThrottle<T>(
  throttle: LoginThrottle,
  attempt: LoginAttempt,
  deadline: Deadline,
  clock: Clock,
  signal: Cancellation,
  decide: () => Promise<T>,
): Promise<T> {
  const place = await taken(throttle, attempt, deadline, clock, signal)
  try {
    const answer = await decide()
    // The login is done, and may have used up what the request waits for its stores. What cannot be forgotten now is
    // forgotten by time.
    await givenBack(throttle, place, 'succeeded')
    return answer
  } catch (error) {
    // A failure that is not counted is not told either.
    if (error instanceof InvalidCredentials) {
      await deadline.run((timeoutMs) => throttle.settle(place, 'failed', timeoutMs))
    } else {
      // Nobody waits for it: the store may be what did not answer.
      givenBack(throttle, place, 'undecided')
    }
    throw error
  }
}

async function givenBack(
  throttle: LoginThrottle,
  place: LoginSlot,
  outcome: 'succeeded' | 'undecided',
): Promise<void> {
  try {
    await throttle.settle(place, outcome, GIVING_BACK_MS)
  } catch {}
}

async function taken(
  throttle: LoginThrottle,
  attempt: LoginAttempt,
  deadline: Deadline,
  clock: Clock,
  signal: Cancellation,
): Promise<LoginSlot> {
  let leftMs = LONGEST_WAIT_MS
  // Longer from time to time: many who wait must not be what the store is busy with.
  for (let times = 1; ; times *= 2) {
    const admission = await deadline.run((timeoutMs) => throttle.take(attempt, timeoutMs))
    if (admission.kind === 'taken') return admission.place
    if (admission.kind === 'refused') throw new TooManyRequests(admission.limit)
    const forMs = Math.min(LONGEST_PAUSE_MS, times * admission.forMs)
    leftMs -= forMs
    if (leftMs < 0) throw new Unavailable()
    await wait(forMs, clock, signal)
  }
}
