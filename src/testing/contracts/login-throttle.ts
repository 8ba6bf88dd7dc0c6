import assert from 'node:assert/strict'
import type {
  LoginAdmission,
  LoginAttempt,
  LoginSlot,
  LoginThrottle,
} from '../../application/ports/login-throttle.ts'
import type { LoginLimits } from '../../domain/login-limit.ts'
import { assertRecovers, assertUnavailable, type Release } from '../holds.ts'
import { type TestRunner, withTimeout } from '../runner.ts'
import { TIMEOUT_MS } from '../stores.ts'

/** Creates a fresh throttle with these limits. */
export type CreateThrottle = (limits: LoginLimits) => Promise<TriedThrottle>

/** A throttle under test. */
export interface TriedThrottle {
  readonly throttle: LoginThrottle
  /** Advances the throttle's clock by `ms` milliseconds. */
  advance(ms: number): Promise<void>
  /** Makes its store stop responding until it is released. Without this function, its tests are skipped. */
  readonly stall?: () => Promise<Release>
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const OFF: LoginLimits = { loginLimitAccount: null, loginLimitAddress: null }
const ACCOUNT: LoginLimits = { ...OFF, loginLimitAccount: { failures: 10, windowMs: 15 * MINUTE_MS } }
const ADDRESS: LoginLimits = { ...OFF, loginLimitAddress: { failures: 10, windowMs: 15 * MINUTE_MS } }
/** The guesses of strangers at once: twice the account's limit. */
const GUESSES = 20
/** With these, another guess each 45 seconds makes at most 100 in any hour. */
const PAUSE_MS = 45_000
/** The guesses at once without a limit by account. */
const MAX_GUESSES = 40

/**
 * The contract of `LoginThrottle`: it allows exactly the number of guesses that the limits say, one after the other or
 * 200 at once; windows and pauses end in time; at most 100 guesses an hour fail from addresses that have not logged in; and
 * they do not lock the customer out. `create` returns an empty throttle with these limits, and a function that advances its clock; it is called for each test, and
 * the caller closes what it opens. The throttle’s clock may advance by itself by less than 900 ms a test. Takes 0.5 s in
 * memory, and 15 s on PostgreSQL.
 */
export function loginThrottleContract(name: string, create: CreateThrottle, runner?: TestRunner): void {
  const { describe, it } = withTimeout(runner)
  describe(`${name} keeps the contract of LoginThrottle:`, () => {
    it('of 200 parallel attempts 10 get a slot and the others wait', async () => {
      const { take } = await tried(ACCOUNT)
      const admissions = await Promise.all(Array.from({ length: 200 }, () => take()))
      assert.equal(admissions.filter(({ kind }) => kind === 'taken').length, 10)
      for (const admission of admissions) {
        if (admission.kind === 'taken') continue
        assert.ok(
          admission.kind === 'wait' && admission.forMs > 0 && admission.forMs <= 100,
          JSON.stringify(admission),
        )
      }
    })

    it('a slot contains its attempt and when it was acquired', async () => {
      const { slot } = await tried(ACCOUNT)
      const taken = await slot({ account: 'ána@example.com', address: '2001:db8:0:1::/64' })
      assert.deepEqual(taken, {
        account: 'ána@example.com',
        address: '2001:db8:0:1::/64',
        takenAtMs: taken.takenAtMs,
        isKnown: false,
      })
      assert.ok(Number.isInteger(taken.takenAtMs), `${taken.takenAtMs} ms`)
      assert.equal((await slot()).account, 'ana@example.com')
    })

    it('failures use up the slots: the next attempt is refused until the window ends', async () => {
      const { take, fail, advance } = await tried(ACCOUNT)
      await fail(9)
      await advance(5 * MINUTE_MS)
      await fail(1)
      const limit = refusedLimit(await take())
      assert.deepEqual(limit, {
        name: 'account',
        failures: 10,
        windowMs: 15 * MINUTE_MS,
        retryAfterMs: limit.retryAfterMs,
      })
      assertAbout(limit.retryAfterMs, 10 * MINUTE_MS)
    })

    it('failures and held slots count together: no guess exceeds the limit', async () => {
      const { take, fail, slots, settle } = await tried(ACCOUNT)
      await fail(4)
      const held = await slots(6)
      assert.equal((await take()).kind, 'wait')
      for (const slot of held.slice(1)) await settle(slot, 'failed')
      assert.equal((await take()).kind, 'wait')
      await settle(held[0], 'failed')
      assert.equal((await take()).kind, 'refused')
    })

    it('failures that are recorded in parallel are all counted', async () => {
      const { take, slots, settle } = await tried(ACCOUNT)
      const held = await slots(10)
      await Promise.all(held.map((slot) => settle(slot, 'failed')))
      assert.equal(refusedLimit(await take()).name, 'account')
    })

    it('the window ends as a whole, 15 minutes after its first failure', async () => {
      const { take, fail, advance } = await tried(ACCOUNT)
      await fail(1)
      await advance(10 * MINUTE_MS)
      await fail(9)
      await advance(5 * MINUTE_MS - 5000)
      assertAbout(refusedLimit(await take()).retryAfterMs, 5000)
      await advance(5001)
      await fail(10)
      assert.equal((await take()).kind, 'refused')
    })

    it('a failure after the window begins the next one', async () => {
      const { take, fail, advance } = await tried(ACCOUNT)
      await fail(9)
      await advance(15 * MINUTE_MS)
      await fail(9)
      await advance(10 * MINUTE_MS)
      await fail(1)
      assertAbout(refusedLimit(await take()).retryAfterMs, 5 * MINUTE_MS)
    })

    it('a success releases its slot and resets the failures before it', async () => {
      const { take, fail, slot, settle } = await tried(ACCOUNT)
      await fail(9)
      await settle(await slot(), 'succeeded')
      await fail(10)
      assert.equal((await take()).kind, 'refused')
    })

    it('a success does not release the slots of other attempts', async () => {
      const { take, slots, settle } = await tried(ACCOUNT)
      const held = await slots(10)
      await settle(held[3], 'succeeded')
      assert.equal((await take()).kind, 'taken')
      assert.equal((await take()).kind, 'wait')
      await settle(held[4], 'failed')
      assert.equal((await take()).kind, 'wait')
    })

    it('an undecided attempt releases its slot and does not change the failures', async () => {
      const { take, fail, slot, settle } = await tried(ACCOUNT)
      await fail(9)
      await settle(await slot(), 'undecided')
      const last = await slot()
      assert.equal((await take()).kind, 'wait')
      await settle(last, 'failed')
      assert.equal((await take()).kind, 'refused')
    })

    it('a slot that is not released expires after 15 seconds', async () => {
      const { take, slots, advance } = await tried(ACCOUNT)
      await slots(10)
      await advance(14_000)
      assert.equal((await take()).kind, 'wait')
      await advance(1001)
      await slots(10)
      assert.equal((await take()).kind, 'wait')
    })

    it('a failure counts even if its slot has expired', async () => {
      const { take, fail, slots, settle, advance } = await tried(ACCOUNT)
      await fail(9)
      const [late] = await slots(1)
      await advance(16_000)
      await settle(late, 'failed')
      assert.equal((await take()).kind, 'refused')
    })

    it('accounts and addresses are counted separately', async () => {
      const { take, fail } = await tried(ACCOUNT)
      await fail(10)
      assert.equal((await take({ account: 'bea@example.com' })).kind, 'taken')
      assert.equal((await take({ address: '203.0.113.9' })).kind, 'taken')
      assert.equal((await take()).kind, 'refused')
    })

    it('no pair of account and address is confused with another', async () => {
      const { take, fail } = await tried(ACCOUNT)
      await fail(10, { account: 'a', address: 'b c' })
      assert.equal((await take({ account: 'a b', address: 'c' })).kind, 'taken')
      assert.equal((await take({ account: 'a', address: 'b c' })).kind, 'refused')
    })

    it('an address is counted exactly over all accounts, and a success does not reset it', async () => {
      const { take, fail, slot, settle, advance } = await tried(ADDRESS)
      for (let i = 0; i < 9; i++) await fail(1, { account: `unknown-${i}` })
      await settle(await slot(), 'succeeded')
      const last = await slot()
      assert.equal((await take({ account: 'bea@example.com' })).kind, 'wait')
      await settle(last, 'failed')
      const limit = refusedLimit(await take({ account: 'bea@example.com' }))
      assert.equal(limit.name, 'address')
      assertAbout(limit.retryAfterMs, 15 * MINUTE_MS)
      assert.equal((await take({ address: '203.0.113.9' })).kind, 'taken')
      await advance(15 * MINUTE_MS)
      assert.equal((await take()).kind, 'taken')
    })

    it('of 200 parallel attempts from one address 10 get a slot', async () => {
      const { take } = await tried(ADDRESS)
      const admissions = await Promise.all(
        Array.from({ length: 200 }, (_, i) => take({ account: `unknown-${i}` })),
      )
      assert.equal(admissions.filter(({ kind }) => kind === 'taken').length, 10)
    })

    it('guesses from many addresses are admitted one at a time, 45 seconds apart', async () => {
      const { take, fail, slot, settle, advance, from } = await tried(ACCOUNT)
      for (let i = 0; i < GUESSES; i++) await fail(1, from(i))
      for (let round = 0; round < 5; round++) {
        const { name, failures, windowMs, retryAfterMs } = refusedLimit(await take(from(200)))
        assert.deepEqual({ name, failures, windowMs }, { name: 'guesses', failures: 1, windowMs: PAUSE_MS })
        // On a slow store, part of the pause has passed since the first failure.
        assert.ok(retryAfterMs <= PAUSE_MS && retryAfterMs > PAUSE_MS / 2, `${retryAfterMs} ms`)
        await advance(PAUSE_MS)
        const only = await slot(from(201))
        assert.equal(refusedLimit(await take(from(202))).name, 'guesses')
        await settle(only, 'failed')
      }
      assert.equal((await take({ account: 'bea@example.com', address: from(200).address })).kind, 'taken')
    })

    it('in a day of guesses from new addresses, fewer than 101 fail in any hour, and the customer logs in throughout', async () => {
      const { take, fail, slot, settle, advance } = await tried(ACCOUNT)
      await settle(await slot(), 'succeeded')
      const failedAtMs: number[] = []
      let [elapsedMs, strangers] = [0, 0]
      const beganMs = performance.now()
      const nowMs = () => elapsedMs + performance.now() - beganMs
      /** Guesses in parallel, each from a new address, until one is refused. */
      const guess = async () => {
        let isRefused = false
        for (let tries = 0; !isRefused && tries < 50; tries++) {
          const admissions = await Promise.all(
            Array.from({ length: 4 }, () => take({ address: `2001:db8:${++strangers}::/64` })),
          )
          isRefused = admissions.some(({ kind }) => kind === 'refused')
          for (const admission of admissions) {
            if (admission.kind !== 'taken') continue
            await settle(admission.slot, 'failed')
            failedAtMs.push(nowMs())
          }
        }
      }
      for (let step = 0; elapsedMs < DAY_MS; step++) {
        await guess()
        // The customer mistypes the password, and logs in: neither gives a stranger another guess.
        if (step % 5 === 0) await fail(2)
        await settle(await slot(), 'succeeded')
        const ms = [1000, PAUSE_MS, 7 * MINUTE_MS, 14 * MINUTE_MS, 40_000][step % 5] as number
        await advance(ms)
        elapsedMs += ms
      }
      const failuresInAnHour = failedAtMs.map(
        // A second is for the time between a count and its record here.
        (firstMs, i) => failedAtMs.slice(i).filter((ms) => ms < firstMs + 60 * MINUTE_MS - 1000).length,
      )
      const most = Math.max(...failuresInAnHour)
      assert.ok(most <= 100 && most >= 80, `${most} failures within an hour`)
    }, 300_000)

    it('parallel guesses from many addresses get no more slots than the burst', async () => {
      const { take, settle, from } = await tried(ACCOUNT)
      const admissions = await Promise.all(Array.from({ length: 100 }, (_, i) => take(from(i))))
      const held = admissions.flatMap((admission) => (admission.kind === 'taken' ? [admission.slot] : []))
      assert.equal(held.length, GUESSES)
      assert.equal(admissions.filter(({ kind }) => kind === 'wait').length, 80)
      await Promise.all(held.map((slot) => settle(slot, 'failed')))
      assert.equal(refusedLimit(await take(from(100))).name, 'guesses')
    })

    it('a success gives strangers no other guess', async () => {
      const { take, fail, slot, settle, from } = await tried(ACCOUNT)
      for (let i = 0; i < GUESSES - 1; i++) await fail(1, from(i))
      await settle(await slot(), 'succeeded')
      await fail(1, from(51))
      assert.equal(refusedLimit(await take(from(52))).name, 'guesses')
      assert.equal((await slot()).isKnown, true)
    })

    it('an undecided attempt uses up no guess', async () => {
      const { take, fail, slot, settle, from } = await tried(ACCOUNT)
      for (let i = 0; i < GUESSES - 1; i++) await fail(1, from(i))
      await settle(await slot(from(50)), 'undecided')
      await settle(await slot(from(51)), 'failed')
      assert.equal(refusedLimit(await take(from(52))).windowMs, PAUSE_MS)
    })

    it('from an address where the customer has logged in, guesses from elsewhere block nothing for 30 days', async () => {
      const { take, fail, slot, settle, advance, from } = await tried(ACCOUNT)
      await settle(await slot(), 'succeeded')
      await advance(29 * DAY_MS)
      for (let i = 0; i < GUESSES; i++) await fail(1, from(i))
      assert.equal((await take(from(50))).kind, 'refused')
      await settle(await slot(), 'undecided')
      // Nor do the customer's own failures.
      await fail(9)
      await settle(await slot(), 'undecided')
      await advance(DAY_MS - MINUTE_MS)
      for (let i = 0; i < GUESSES; i++) await fail(1, from(i))
      await settle(await slot(), 'undecided')
      await advance(MINUTE_MS)
      await fail(1, from(52))
      assert.equal(refusedLimit(await take()).name, 'guesses')
    })

    it('from an address where the customer has logged in, fewer than 100 failures in a row are allowed', async () => {
      const { take, fail, slot, settle, from } = await tried(OFF)
      await settle(await slot(), 'succeeded')
      // Those of a known address, then those of strangers, to whom it then belongs.
      await fail(2 * MAX_GUESSES)
      const limit = refusedLimit(await take())
      assert.deepEqual([limit.name, limit.windowMs], ['guesses', MINUTE_MS])
      assert.equal(refusedLimit(await take(from(1))).name, 'guesses')
    })

    it('slots held from an address where the customer has logged in are counted', async () => {
      const { fail, slot, slots, settle } = await tried(OFF)
      await settle(await slot(), 'succeeded')
      await fail(MAX_GUESSES - 5)
      const held = await slots(6)
      assert.equal(held.filter(({ isKnown }) => isKnown).length, 5)
    })

    it('the guesses of strangers are all there again after 15 minutes without one', async () => {
      const { take, fail, advance, from } = await tried(ACCOUNT)
      for (let i = 0; i < GUESSES; i++) await fail(1, from(i))
      await advance(GUESSES * PAUSE_MS)
      for (let i = 0; i < GUESSES; i++) await fail(1, from(i + 100))
      assert.equal(refusedLimit(await take(from(52))).name, 'guesses')
    })

    it('limits that are off count nothing', async () => {
      const { take, fail } = await tried(OFF)
      await fail(MAX_GUESSES - 1)
      assert.equal((await take({ account: 'bea@example.com' })).kind, 'taken')
      await fail(1)
      assert.equal(refusedLimit(await take()).name, 'guesses', 'but guesses')
    })

    it('the stricter of two limits applies', async () => {
      const loginLimitAddress = { failures: 3, windowMs: MINUTE_MS }
      const { take, fail } = await tried({ ...ACCOUNT, loginLimitAddress })
      await fail(3)
      assert.deepEqual(
        [
          refusedLimit(await take()).name,
          refusedLimit(await take()).failures,
          refusedLimit(await take()).windowMs,
        ],
        ['address', 3, MINUTE_MS],
      )
    })

    it('any text can be an account', async () => {
      const { take, fail } = await tried(ACCOUNT)
      for (const account of ['', "o'hara", 'a\u0000b', '💥'.repeat(254), '\\x00', '{a,b}', '\ud800']) {
        await fail(10, { account })
        assert.equal((await take({ account })).kind, 'refused', JSON.stringify(account))
      }
    })

    it('while the store does not respond, every call rejects with `Unavailable` at its timeout', async ({
      skip,
    }) => {
      const { throttle, slot, stall } = await tried(ACCOUNT)
      if (stall === undefined) return skip('The throttle under test has no function stall.')
      const taken = await slot()
      const calls: Record<'take' | 'settle' | 'forget', (timeoutMs: number) => unknown> = {
        take: (timeoutMs) => throttle.take(attempt({}), timeoutMs),
        settle: (timeoutMs) => throttle.settle(taken, 'failed', timeoutMs),
        forget: (timeoutMs) => throttle.forget('ana@example.com', timeoutMs),
      }
      const resume = await stall()
      await assertUnavailable(calls).finally(resume)
      await assertRecovers(calls.take)
    })

    it('forgotten failures of an account no longer count, wherever they came from', async () => {
      const { throttle, take, fail, from, slot, settle } = await tried(ACCOUNT)
      await settle(await slot(), 'succeeded')
      await fail(10)
      for (let i = 0; i < GUESSES; i++) await fail(1, from(i))
      const other = { account: 'bea@example.com' }
      await fail(10, other)
      assert.equal((await take()).kind, 'refused')
      assert.equal((await take(from(99))).kind, 'refused')
      await throttle.forget('ana@example.com', TIMEOUT_MS)
      for (const attempt of [{}, from(0), from(99)]) await settle(await slot(attempt), 'undecided')
      assert.equal((await take(other)).kind, 'refused')
      await fail(10)
      assert.equal((await take()).kind, 'refused')
      await throttle.forget('unknown@example.com', TIMEOUT_MS)
    })

    it('forgotten failures of an account still count for their address', async () => {
      const { throttle, take, fail } = await tried(ADDRESS)
      await fail(10)
      await throttle.forget('ana@example.com', TIMEOUT_MS)
      assert.equal(refusedLimit(await take()).name, 'address')
    })

    async function tried(limits: LoginLimits) {
      const { throttle, advance, stall } = await create(limits)
      const take = (different: Partial<LoginAttempt> = {}) => throttle.take(attempt(different), TIMEOUT_MS)
      const settle = (slot: LoginSlot | undefined, outcome: 'failed' | 'succeeded' | 'undecided') =>
        throttle.settle(slot as LoginSlot, outcome, TIMEOUT_MS)
      const slot = async (different: Partial<LoginAttempt> = {}) => {
        const admission = await take(different)
        assert.ok(admission.kind === 'taken', JSON.stringify(admission))
        return admission.slot
      }
      return {
        throttle,
        stall,
        take,
        settle,
        slot,
        advance,
        from: (i: number) => attempt({ address: `198.51.100.${i}` }),
        slots: (count: number) => Promise.all(Array.from({ length: count }, () => slot())),
        async fail(times: number, different: Partial<LoginAttempt> = {}) {
          for (let i = 0; i < times; i++) await settle(await slot(different), 'failed')
        },
      }
    }
  })
}

function attempt(different: Partial<LoginAttempt>): LoginAttempt {
  return { account: 'ana@example.com', address: '192.0.2.1', ...different }
}

function refusedLimit(admission: LoginAdmission) {
  assert.ok(admission.kind === 'refused', JSON.stringify(admission))
  return admission.limit
}

/** The clock of a database advances while the test runs. */
function assertAbout(ms: number, expectedMs: number): void {
  assert.ok(ms <= expectedMs && ms > expectedMs - 900, `${ms} ms, not ${expectedMs}`)
}
