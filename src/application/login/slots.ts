import { Unavailable } from '../../domain/errors.ts'
import type { LoginLimit } from '../../domain/login-limit.ts'
import type { Clock } from '../../lib/clock.ts'
import { createKeyedSemaphore } from '../keyed-semaphore.ts'
import type { HashingRequest, HashingSlot, PasswordHasher } from '../ports/password-hasher.ts'
import { sharedNetwork } from '../requester.ts'
import type { AdmittedStep, PasswordRequest, PasswordStep } from './login-step.ts'

/**
 * Limits the parallel logins of one account and address to the slots that the throttle has. The others wait here, where
 * they use neither the store nor the hashing queue.
 */
export function withAccountSlot<Request extends PasswordRequest, Result>(
  limit: LoginLimit | null,
  clock: Clock,
  step: PasswordStep<Request, Result>,
): PasswordStep<Request, Result> {
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

/** Throws `Unavailable` when the hashing queue has no room for the login, before any store is called. */
export function withHashingCapacity<Request extends PasswordRequest, Result>(
  passwords: PasswordHasher,
  step: PasswordStep<Request, Result>,
): PasswordStep<Request, Result> {
  return async function stepWithHashingCapacity(request) {
    // Only the throttle can tell whether the account is known here, so the benefit of the doubt is given until then.
    if (!passwords.hasRoom(toHashingRequest(request, true))) throw new Unavailable()
    return step(request)
  }
}

/** Holds a slot of the hashing queue during the step, for all its hashing. */
export function withHashingSlot<Request extends PasswordRequest, Result>(
  passwords: PasswordHasher,
  step: (request: Request, slot: HashingSlot) => Promise<Result>,
): AdmittedStep<Request, Result> {
  return async function stepWithHashingSlot(request, isKnown) {
    const slot = passwords.queue(toHashingRequest(request, isKnown))
    try {
      return await step(request, slot)
    } finally {
      slot.leave()
    }
  }
}

function toHashingRequest({ attempt, requester }: PasswordRequest, isKnown: boolean): HashingRequest {
  const { account, address } = attempt
  return { source: sharedNetwork(address), account, isKnown, signal: requester.signal }
}
