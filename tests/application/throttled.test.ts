import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createDeadline } from '../../src/application/deadline.ts'
import type {
  LoginAdmission,
  LoginOutcome,
  LoginThrottle,
} from '../../src/application/ports/login-throttle.ts'
import { withLoginThrottle } from '../../src/application/use-cases/throttled-login.ts'
import { InvalidCredentials, TooManyRequests, Unavailable } from '../../src/domain/errors.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { turn } from '../support/fakes.ts'

const attempt = { account: 'ana@example.com', address: '192.0.2.1' }
const taken: LoginAdmission = { kind: 'taken', place: { ...attempt, takenAtMs: 7 } }
const wait: LoginAdmission = { kind: 'wait', forMs: 25 }
const limit = { name: 'account', failures: 10, windowMs: 900_000, retryAfterMs: 1000 } as const

/** A throttle that admits as it is told, the last word for ever, and remembers what it was asked. */
function told(...admissions: readonly LoginAdmission[]) {
  const clock = movableClock()
  const gone = new AbortController()
  const outcomes: LoginOutcome[] = []
  let taking = 0
  const throttle: LoginThrottle = {
    take: async () => admissions[Math.min(taking++, admissions.length - 1)] as LoginAdmission,
    async settle(place, outcome) {
      assert.equal(place.takenAtMs, 7)
      outcomes.push(outcome)
    },
  }
  return {
    clock,
    gone,
    outcomes,
    throttle,
    takes: () => taking,
    run: <T>(decide: () => Promise<T>) =>
      withLoginThrottle(throttle, attempt, createDeadline(1000, clock), clock, gone.signal, decide),
    /** Lets time pass step by step, as a clock does. */
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 25) {
        await turn()
        clock.advance(25)
      }
      await turn()
    },
  }
}

const decided = () => assert.fail('it was decided')

describe('A throttled attempt', () => {
  it('is decided in its place, and a success is told', async () => {
    const { run, outcomes } = told(taken)
    assert.equal(await run(async () => 'answer'), 'answer')
    assert.deepEqual(outcomes, ['succeeded'])
  })

  it('is a failure where the credentials are wrong, and nothing else is', async () => {
    const { run, outcomes } = told(taken)
    for (const error of [new InvalidCredentials(), new Unavailable(), new Error('a bug')]) {
      await assert.rejects(
        run(() => Promise.reject(error)),
        error,
      )
    }
    assert.deepEqual(outcomes, ['failed', 'undecided', 'undecided'])
  })

  it('is refused without being decided when failures have used up the places', async () => {
    const { run, outcomes } = told({ kind: 'refused', limit })
    await assert.rejects(run(decided), (error: unknown) => {
      assert.ok(error instanceof TooManyRequests)
      assert.equal(error.limit, limit)
      return true
    })
    assert.deepEqual(outcomes, [])
  })

  it('waits while others are being decided, and then takes its place', async () => {
    const { run, pass, takes } = told(wait, wait, taken)
    const running = run(async () => 'answer')
    await pass(75)
    assert.equal(await running, 'answer')
    assert.equal(takes(), 3)
  })

  it('is unavailable after two seconds of waiting, and asks less and less often', async () => {
    const { run, pass, takes } = told(wait)
    const running = assert.rejects(run(decided), Unavailable)
    await pass(2000)
    await running
    assert.equal(takes(), 13)
  })

  it('stops waiting when its client goes away', async () => {
    const { run, gone } = told(wait)
    const running = run(decided)
    await turn()
    gone.abort(new Error('gone'))
    await assert.rejects(running, /gone/)
  })

  it('does not tell of a failure that was not counted', async () => {
    const { run, throttle } = told(taken)
    throttle.settle = () => Promise.reject(new Unavailable())
    await assert.rejects(
      run(() => Promise.reject(new InvalidCredentials())),
      Unavailable,
    )
  })

  it('succeeds, or fails for its own reason, where the place cannot be given back', async () => {
    const { run, throttle } = told(taken)
    throttle.settle = () => Promise.reject(new Unavailable())
    assert.equal(await run(async () => 'answer'), 'answer')
    await assert.rejects(
      run(() => Promise.reject(new Error('a bug'))),
      /a bug/,
    )
  })

  it('gives its place back also where the login has used up the patience with its stores', async () => {
    const { throttle, clock, gone, outcomes } = told(taken)
    const deadline = createDeadline(1000, clock)
    await withLoginThrottle(throttle, attempt, deadline, clock, gone.signal, () =>
      deadline.run(async () => clock.advance(5000)),
    )
    assert.deepEqual(outcomes, ['succeeded'])
  })

  it('that is not decided, since a store does not answer, waits for no store to say so', async () => {
    const { run, throttle } = told(taken)
    throttle.settle = () => new Promise(() => {})
    await assert.rejects(
      run(() => Promise.reject(new Unavailable())),
      Unavailable,
    )
  })
})
