import { Unavailable } from '../domain/errors.ts'
import type { Digest, OwnedToken } from '../domain/login-token.ts'
import { pause } from './pause.ts'
import type { Clock } from './ports/clock.ts'
import type { LoginTokens } from './ports/login-tokens.ts'
import type { Requester } from './requester.ts'
import { type Soon, whenThere } from './soon.ts'

/** Unknown tokens that an address may present at once. */
const BURST = 100
/** Look-ups a second of an address that has presented more. */
const A_SECOND = 20
/** What was under way before anything was known can put an address so far behind, and no further. */
const MOST_DEBT = 100
const MOST_ADDRESSES = 10_000

/** What an address may look up before it has to wait. */
interface Budget {
  left: number
  asOfMs: number
  readonly waiting: Set<() => void>
  callOff: (() => void) | null
}

/**
 * Login tokens whose look-ups are budgeted where an address presents many unknown ones: 100 at once, then 20 a second.
 * Known tokens use nothing up, but wait where nothing is left; `Unavailable` for whoever would wait longer than
 * `waitMs`. An address that has presented none lately pays nothing, and its look-up is sent at once.
 */
export function budgetedLoginTokens(inner: LoginTokens, clock: Clock): LoginTokens {
  const budgets = new Map<string, Budget>()

  return {
    ...inner,
    findByDigest(digest, waitMs, requester) {
      if (requester === undefined) return inner.findByDigest(digest, waitMs)
      const { address } = requester
      const budget = limitedAt(address)
      if (budget !== null) return fromBudget(budget, digest, waitMs, requester)
      return whenThere(inner.findByDigest(digest, waitMs, requester), (owned) => {
        if (owned === null) spend(address)
        return owned
      })
    },
  }

  function fromBudget(
    budget: Budget,
    digest: Digest,
    waitMs: number,
    requester: Requester,
  ): Soon<OwnedToken | null> {
    if (budget.left < 1 || budget.waiting.size > 0) return afterWaiting(budget, digest, waitMs, requester)
    budget.left -= 1
    return lookUp(budget, digest, waitMs, requester)
  }

  async function afterWaiting(
    budget: Budget,
    digest: Digest,
    waitMs: number,
    requester: Requester,
  ): Promise<OwnedToken | null> {
    // Those before it alone take longer than that.
    if (budget.waiting.size >= (waitMs / 1000) * A_SECOND) throw new Unavailable()
    const beganMs = clock.monotonicMs()
    // Not called off with its requester: others may have joined it.
    const mayLookUp = pause(waitMs, clock, null, (wake) => {
      budget.waiting.add(wake)
      return () => leave(budget, wake)
    })
    serve(budget)
    if (!(await mayLookUp)) throw new Unavailable()
    return lookUp(budget, digest, waitMs - (clock.monotonicMs() - beganMs), requester)
  }

  function leave(budget: Budget, wake: () => void): void {
    budget.waiting.delete(wake)
    if (budget.waiting.size > 0) return
    budget.callOff?.()
    budget.callOff = null
  }

  /** What was taken for it is given back unless the token is unknown. */
  async function lookUp(
    budget: Budget,
    digest: Digest,
    waitMs: number,
    requester: Requester,
  ): Promise<OwnedToken | null> {
    let isUnknown = false
    try {
      const owned = await inner.findByDigest(digest, waitMs, requester)
      isUnknown = owned === null
      return owned
    } finally {
      if (!isUnknown) {
        budget.left += 1
        serve(budget)
      }
    }
  }

  /** Lets those who wait look up, as far as the budget goes, and the next when there is more. */
  function serve(budget: Budget): void {
    budget.callOff?.()
    budget.callOff = null
    refill(budget)
    for (const wake of budget.waiting) {
      if (budget.left < 1) {
        budget.callOff = clock.after(((1 - budget.left) / A_SECOND) * 1000, () => serve(budget))
        return
      }
      budget.left -= 1
      wake()
    }
  }

  function refill(budget: Budget): void {
    const nowMs = clock.monotonicMs()
    budget.left = Math.min(BURST, budget.left + ((nowMs - budget.asOfMs) / 1000) * A_SECOND)
    budget.asOfMs = nowMs
  }

  /** Null for an address that has nothing to answer for. */
  function limitedAt(address: string): Budget | null {
    const budget = budgets.get(address)
    if (budget === undefined) return null
    refill(budget)
    if (budget.left < BURST) return budget
    budgets.delete(address)
    return null
  }

  function spend(address: string): void {
    const budget = limitedAt(address) ?? opened(address)
    budget.left = Math.max(-MOST_DEBT, budget.left - 1)
  }

  function opened(address: string): Budget {
    if (budgets.size >= MOST_ADDRESSES) budgets.delete(budgets.keys().next().value as string)
    const budget: Budget = { left: BURST, asOfMs: clock.monotonicMs(), waiting: new Set(), callOff: null }
    budgets.set(address, budget)
    return budget
  }
}
