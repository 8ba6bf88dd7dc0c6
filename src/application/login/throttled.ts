import { TooManyLogins, Unavailable } from '../../domain/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { wait } from '../../lib/wait.ts'
import type { LoginSlot, LoginThrottle } from '../ports/login-throttle.ts'
import type { AdmittedStep, Decision, PasswordRequest, PasswordStep } from './login-step.ts'

/** The longest total wait for a slot, in milliseconds. */
const MAX_WAIT_MS = 2000
const MAX_PAUSE_MS = 200
const RELEASE_TIMEOUT_MS = 1000

/**
 * Acquires a slot of the throttle, runs the step and records its outcome. Throws `TooManyLogins` and does not run the
 * step when failures have used up the slots. Throws `Unavailable` when no slot became free in time or a refusal could not be
 * counted.
 */
export function throttled<Request extends PasswordRequest, Result>(
  throttle: LoginThrottle,
  clock: Clock,
  step: AdmittedStep<Request, Decision<Result>>,
): PasswordStep<Request, Decision<Result>> {
  return async function throttledStep(request) {
    const slot = await acquireSlot(throttle, clock, request)
    const decision = await step(request, slot.isKnown).catch((error: unknown) => {
      // Not awaited: the store may be what failed to respond.
      releaseSlot(throttle, slot, 'undecided')
      throw error
    })
    // A separate timeout: the login may have used up the request's deadline. If the release fails, the slot expires.
    if (decision.kind === 'accepted') await releaseSlot(throttle, slot, 'succeeded')
    // The failure must be counted before the client learns of it: an uncounted guess is `Unavailable`.
    else await request.deadline.run((timeoutMs) => throttle.settle(slot, 'failed', timeoutMs))
    return decision
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
  clock: Clock,
  { attempt, deadline, requester }: PasswordRequest,
): Promise<LoginSlot> {
  let leftMs = MAX_WAIT_MS
  // Exponential backoff: many waiting logins must not keep the store busy.
  for (let times = 1; ; times *= 2) {
    const admission = await deadline.run((timeoutMs) => throttle.take(attempt, timeoutMs))
    if (admission.kind === 'taken') return admission.slot
    if (admission.kind === 'refused') throw new TooManyLogins(admission.limit)
    const forMs = Math.min(MAX_PAUSE_MS, times * admission.forMs)
    leftMs -= forMs
    if (leftMs < 0) throw new Unavailable()
    await wait(forMs, clock, requester.signal)
  }
}
