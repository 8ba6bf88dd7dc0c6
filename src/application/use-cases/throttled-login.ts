import { InvalidCredentials, TooManyRequests, Unavailable } from '../../domain/errors.ts'
import type { Cancellation } from '../../lib/cancellation.ts'
import type { Clock } from '../../lib/clock.ts'
import { wait } from '../../lib/wait.ts'
import type { Deadline } from '../deadline.ts'
import type { LoginAttempt, LoginSlot, LoginThrottle } from '../ports/login-throttle.ts'

/** The longest total wait for a slot, in milliseconds. */
const MAX_WAIT_MS = 2000
const MAX_PAUSE_MS = 200
const RELEASE_TIMEOUT_MS = 1000

/**
 * Returns the result of `decide`. The throttle counts a failure when `decide` throws `InvalidCredentials`. Throws
 * `TooManyRequests` without calling `decide` when failures have used up the slots, and `Unavailable` when no slot became
 * free in time or a failure could not be counted.
 */
export async function withLoginThrottle<T>(
  throttle: LoginThrottle,
  attempt: LoginAttempt,
  deadline: Deadline,
  clock: Clock,
  signal: Cancellation,
  decide: () => Promise<T>,
): Promise<T> {
  const slot = await acquireSlot(throttle, attempt, deadline, clock, signal)
  try {
    const result = await decide()
    // A separate timeout: the login may have used up the request's deadline. If the release fails, the slot expires.
    await releaseSlot(throttle, slot, 'succeeded')
    return result
  } catch (error) {
    // The failure must be counted before the client learns of it: an uncounted guess is `Unavailable`.
    if (error instanceof InvalidCredentials) {
      await deadline.run((timeoutMs) => throttle.settle(slot, 'failed', timeoutMs))
    } else {
      // Not awaited: the store may be what failed to respond.
      releaseSlot(throttle, slot, 'undecided')
    }
    throw error
  }
}

async function releaseSlot(
  throttle: LoginThrottle,
  slot: LoginSlot,
  outcome: 'succeeded' | 'undecided',
): Promise<void> {
  try {
    await throttle.settle(slot, outcome, RELEASE_TIMEOUT_MS)
  } catch {}
}

async function acquireSlot(
  throttle: LoginThrottle,
  attempt: LoginAttempt,
  deadline: Deadline,
  clock: Clock,
  signal: Cancellation,
): Promise<LoginSlot> {
  let leftMs = MAX_WAIT_MS
  // Exponential backoff: many waiting logins must not keep the store busy.
  for (let times = 1; ; times *= 2) {
    const admission = await deadline.run((timeoutMs) => throttle.take(attempt, timeoutMs))
    if (admission.kind === 'taken') return admission.slot
    if (admission.kind === 'refused') throw new TooManyRequests(admission.limit)
    const forMs = Math.min(MAX_PAUSE_MS, times * admission.forMs)
    leftMs -= forMs
    if (leftMs < 0) throw new Unavailable()
    await wait(forMs, clock, signal)
  }
}
