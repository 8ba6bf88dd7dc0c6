import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createDeadline } from '../../src/application/deadline.ts'
import type { Decision, LoggedIn } from '../../src/application/login/login-step.ts'
import { throttled } from '../../src/application/login/throttled.ts'
import type {
  LoginAdmission,
  LoginOutcome,
  LoginThrottle,
} from '../../src/application/ports/login-throttle.ts'
import { TooManyLogins, Unavailable } from '../../src/domain/errors.ts'
import { aLoginToken } from '../../src/testing/builders.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { turn } from '../support/fakes.ts'
import { aRequester } from '../support/idle-ports.ts'

const attempt = { account: 'ana@example.com', address: '192.0.2.1' }
const taken: LoginAdmission = { kind: 'taken', slot: { ...attempt, takenAtMs: 7, isKnown: true } }
const wait: LoginAdmission = { kind: 'wait', forMs: 25 }
const ACCEPTED: Decision<LoggedIn> = {
  kind: 'accepted',
  result: { secret: 'secret', token: aLoginToken({ customerId: 'a-customer' }) },
}
const REFUSED: Decision<LoggedIn> = { kind: 'refused', customerId: null, reason: 'unknown' }
const limit = { name: 'account', failures: 10, windowMs: 900_000, retryAfterMs: 1000 } as const

/** A throttle that returns these admissions in order, repeats the last one, and records the outcomes. */
function createAttempt(...admissions: readonly LoginAdmission[]) {
  const clock = movableClock()
  const gone = new AbortController()
  const outcomes: LoginOutcome[] = []
  let taking = 0
  const throttle: LoginThrottle = {
    take: async () => admissions[Math.min(taking++, admissions.length - 1)] as LoginAdmission,
    async settle(slot, outcome) {
      assert.equal(slot.takenAtMs, 7)
      outcomes.push(outcome)
    },
    forget: async () => {},
  }
  return {
    clock,
    gone,
    outcomes,
    throttle,
    takes: () => taking,
    run: (decide: () => Promise<Decision<LoggedIn>>, deadline = createDeadline(1000, clock)) =>
      throttled(
        throttle,
        clock,
        decide,
      )({ attempt, password: '', deadline, requester: aRequester({ signal: gone.signal }) }),
    /** Advances the clock in small steps, as real time does. */
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 25) {
        await turn()
        clock.advance(25)
      }
      await turn()
    },
  }
}

const decided = () => assert.fail('the attempt was decided')

describe('A throttled attempt', () => {
  it('is decided while it holds a slot and reports its success', async () => {
    const { run, outcomes } = createAttempt(taken)
    assert.equal(await run(async () => ACCEPTED), ACCEPTED)
    assert.deepEqual(outcomes, ['succeeded'])
  })

  it('counts as a failure only when the credentials are refused', async () => {
    const { run, outcomes } = createAttempt(taken)
    assert.equal(await run(async () => REFUSED), REFUSED)
    for (const error of [new Unavailable(), new Error('a bug')]) {
      await assert.rejects(
        run(() => Promise.reject(error)),
        error,
      )
    }
    assert.deepEqual(outcomes, ['failed', 'undecided', 'undecided'])
  })

  it('is refused without a decision when failures have used up the slots', async () => {
    const { run, outcomes } = createAttempt({ kind: 'refused', limit })
    await assert.rejects(run(decided), (error: unknown) => {
      assert.ok(error instanceof TooManyLogins)
      assert.equal(error.limit, limit)
      return true
    })
    assert.deepEqual(outcomes, [])
  })

  it('waits while others are decided, then takes its slot', async () => {
    const { run, pass, takes } = createAttempt(wait, wait, taken)
    const running = run(async () => ACCEPTED)
    await pass(75)
    assert.equal(await running, ACCEPTED)
    assert.equal(takes(), 3)
  })

  it('is unavailable after two seconds of polling with backoff', async () => {
    const { run, pass, takes } = createAttempt(wait)
    const running = assert.rejects(run(decided), Unavailable)
    await pass(2000)
    await running
    assert.equal(takes(), 13)
  })

  it('stops waiting when its client disconnects', async () => {
    const { run, gone } = createAttempt(wait)
    const running = run(decided)
    await turn()
    gone.abort(new Error('gone'))
    await assert.rejects(running, /gone/)
  })

  it('does not report a failure that was not counted', async () => {
    const { run, throttle } = createAttempt(taken)
    throttle.settle = () => Promise.reject(new Unavailable())
    await assert.rejects(
      run(async () => REFUSED),
      Unavailable,
    )
  })

  it('keeps its own outcome when the slot cannot be released', async () => {
    const { run, throttle } = createAttempt(taken)
    throttle.settle = () => Promise.reject(new Unavailable())
    assert.equal(await run(async () => ACCEPTED), ACCEPTED)
    await assert.rejects(
      run(() => Promise.reject(new Error('a bug'))),
      /a bug/,
    )
  })

  it('releases its slot even after the login used up its store deadline', async () => {
    const { run, clock, outcomes } = createAttempt(taken)
    const deadline = createDeadline(1000, clock)
    await run(async () => {
      await deadline.run(async () => clock.advance(5000))
      return ACCEPTED
    }, deadline)
    assert.deepEqual(outcomes, ['succeeded'])
  })

  it('does not wait for the throttle to settle when a store is unavailable', async () => {
    const { run, throttle } = createAttempt(taken)
    throttle.settle = () => new Promise(() => {})
    await assert.rejects(
      run(() => Promise.reject(new Unavailable())),
      Unavailable,
    )
  })
})
