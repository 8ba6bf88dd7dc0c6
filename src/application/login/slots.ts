import type { LoginLimit } from '../../domain/login-limit.ts'
import type { Clock } from '../../lib/clock.ts'
import { createKeyedSemaphore } from '../keyed-semaphore.ts'
import type { HashingSlot, PasswordHasher } from '../ports/password-hasher.ts'
import type { LoginRequest, LoginStep } from './login-step.ts'

/**
 * Limits the parallel logins of one account and address to the slots that the throttle has. The others wait here, where
 * they use neither the store nor the hashing queue.
 */
export function withAccountSlot<Result>(
  limit: LoginLimit | null,
  clock: Clock,
  step: LoginStep<Result>,
): LoginStep<Result> {
  const semaphore = createKeyedSemaphore(limit?.failures ?? Number.POSITIVE_INFINITY, clock)
  return async function stepWithAccountSlot(request) {
    const { attempt, requester } = request
    const release = await semaphore.acquire(`${attempt.address} ${attempt.account}`, requester.signal)
    try {
      return await step(request)
    } finally {
      release()
    }
  }
}

/** Throws `Unavailable` while the hashing queue is full, before any store is called. */
export function withHashingCapacity<Result>(
  passwords: PasswordHasher,
  step: LoginStep<Result>,
): LoginStep<Result> {
  return async function stepWithHashingCapacity(request) {
    passwords.queue(request.requester.signal).leave()
    return step(request)
  }
}

/** Holds a slot of the hashing queue during the step, for all its hashing. */
export function withHashingSlot<Result>(
  passwords: PasswordHasher,
  step: (request: LoginRequest, slot: HashingSlot) => Promise<Result>,
): LoginStep<Result> {
  return async function stepWithHashingSlot(request) {
    const slot = passwords.queue(request.requester.signal)
    try {
      return await step(request, slot)
    } finally {
      slot.leave()
    }
  }
}
