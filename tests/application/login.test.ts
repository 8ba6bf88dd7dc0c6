import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryLoginThrottle } from '../../src/adapters/memory/login-throttle.ts'
import type { AuditEventName } from '../../src/application/audit-events.ts'
import type { Requester } from '../../src/application/requester.ts'
import { STORE_TIMEOUT_MS } from '../../src/application/use-cases/use-cases.ts'
import { InvalidCredentials, TooManyLogins, Unavailable } from '../../src/domain/errors.ts'
import { tokenState } from '../../src/domain/login-token.ts'
import { type Core, memoryCore, unreachable } from '../support/core.ts'
import { deferred, fakePasswords, hashOf, turn } from '../support/fakes.ts'
import { aRequester } from '../support/idle-ports.ts'

const login = (core: Core, email: string, password = 'right') =>
  core.login({ email, password }, core.deadline())

describe('A login', () => {
  it('returns a secret that authenticates its customer with all abilities', async () => {
    const core = memoryCore()
    const customer = await core.customer()
    const { secret, token } = await login(core, customer.email)
    assert.deepEqual(token, {
      id: token.id,
      customerId: customer.id,
      name: 'login',
      abilities: ['*'],
      createdAtMs: core.clock.nowMs(),
      expiresAtMs: core.clock.nowMs() + 3_600_000,
      revokedAtMs: null,
      lastUsedAtMs: null,
      device: null,
    })
    const caller = await core.authenticate(secret, core.deadline())
    assert.deepEqual({ token: caller.token, customer: caller.customer }, { token, customer })
  })

  it('never expires when the lifetime is null', async () => {
    const core = memoryCore(() => ({}), { tokenTtlMs: null })
    const { token } = await login(core, (await core.customer()).email)
    assert.equal(token.expiresAtMs, null)
  })

  it('counts the lifetime from the verification of the password, not from the request', async () => {
    const core = memoryCore()
    const { email } = await core.customer()
    core.passwords.whileVerifying = () => core.clock.advance(250)
    const beganMs = core.clock.nowMs()
    const { token } = await login(core, email)
    assert.equal(token.createdAtMs, beganMs + 250)
  })

  it('accepts the e-mail in any ASCII case and with spaces around it, but the password only as sent', async () => {
    const core = memoryCore()
    await core.customer({ email: 'Ana.Ruiz@Example.COM' }, ' Right ')
    for (const email of ['ana.ruiz@example.com', ' ANA.RUIZ@EXAMPLE.COM\t', 'Ana.Ruiz@Example.COM']) {
      await login(core, email, ' Right ')
      for (const password of ['Right', ' right ', ' Right', 'Right ', ' Right  ', '']) {
        await assert.rejects(login(core, email, password), InvalidCredentials)
      }
    }
  })

  it('accepts a password of any age', async () => {
    const core = memoryCore()
    const { email } = await core.customer()
    core.clock.advance(10 * 365 * 86_400_000)
    await core.login({ email, password: 'right' }, core.deadline())
  })

  it('looks up the folded e-mail, so that a store need not trim', async () => {
    const lookups: string[] = []
    const core = memoryCore(({ customers }) => ({
      customers: {
        ...customers,
        async findByEmail(email) {
          lookups.push(email)
          return null
        },
      },
    }))
    await assert.rejects(login(core, '\t Ana@Example.COM \r\n'), InvalidCredentials)
    assert.deepEqual(lookups, ['ana@example.com'])
  })

  it('revokes the earlier login token and no other', async () => {
    const core = memoryCore()
    const customer = await core.customer()
    const bot = await core.token(customer, { name: 'bot' })
    const other = await core.customer()
    const stranger = await login(core, other.email)
    const first = await login(core, customer.email)
    const second = await login(core, customer.email)
    await assert.rejects(async () => core.authenticate(first.secret, core.deadline()))
    for (const { secret } of [bot, stranger, second]) await core.authenticate(secret, core.deadline())
  })

  it('gives the same refusal after the same verifications for every cause', async () => {
    const core = memoryCore()
    const known = await core.customer()
    const disabled = await core.customer({ disabledAtMs: 1 })
    const without = await core.customer({}, null)
    const refusals: Error[] = []
    for (const [email, password, expected] of [
      [known.email, 'wrong', hashOf('right')],
      ['nobody@example.com', 'right', null],
      [disabled.email, 'right', null],
      [disabled.email, 'wrong', null],
      [without.email, 'right', null],
    ] as const) {
      core.passwords.verified.length = 0
      const refusal = await login(core, email, password).then(
        () => assert.fail('accepted'),
        (error: Error) => error,
      )
      assert.deepEqual(core.passwords.verified, [expected])
      refusals.push(refusal)
    }
    for (const refusal of refusals) {
      assert.ok(refusal instanceof InvalidCredentials)
      assert.equal(refusal.message, refusals[0]?.message)
    }
    assert.equal(core.store.tokens.size, 0)
  })

  it('rejects the empty password after the same verification, even if its hash is stored', async () => {
    const core = memoryCore(() => ({}), { loginLimitAccount: { failures: 2, windowMs: 60_000 } })
    const { email, id } = await core.customer({}, '')
    for (let failures = 0; failures < 2; failures++)
      await assert.rejects(login(core, email, ''), InvalidCredentials)
    assert.deepEqual(core.passwords.verified, [hashOf(''), hashOf('')])
    assert.equal(core.store.tokens.size, 0)
    assert.deepEqual(
      core.recorded.map(({ event, customerId, reason }) => [event, customerId, reason]),
      [
        ['login.failed', id, 'password'],
        ['login.failed', id, 'password'],
      ],
    )
  })

  it('is refused for a customer who may not log in, even if the hasher accepts the password', async () => {
    const core = memoryCore(() => ({ passwords: { ...fakePasswords(), queue: () => yes } }))
    const yes = { ...fakePasswords(), verify: async () => true }
    const disabled = await core.customer({ disabledAtMs: 1 })
    const without = await core.customer({}, null)
    for (const email of [disabled.email, without.email, 'nobody@example.com']) {
      await assert.rejects(login(core, email), InvalidCredentials)
    }
    assert.equal(core.store.tokens.size, 0)
  })

  it('verifies again if the hash was renewed during the verification', async () => {
    const passwords = { ...fakePasswords(), queue: () => passwords }
    const core = memoryCore(() => ({ passwords }))
    const { id, email } = await core.customer()
    let verifications = 0
    passwords.verify = async () => {
      verifications += 1
      if (verifications === 1) await core.ports.customers.setPasswordHash(id, 'rehashed', 1, 1000)
      return true
    }
    const { token } = await login(core, email)
    assert.equal(verifications, 2)
    assert.equal(tokenState(token, core.clock.nowMs()), 'active')
  })

  it('with the old password is refused if the password changed during the verification', async () => {
    const core = memoryCore()
    const { id, email } = await core.customer()
    core.passwords.whileVerifying = () =>
      core.ports.customers.setPasswordHash(id, hashOf('new'), core.clock.nowMs(), 1000)
    await assert.rejects(login(core, email), InvalidCredentials)
    assert.deepEqual(core.passwords.verified, [hashOf('right'), hashOf('new')])
    assert.equal(core.store.tokens.size, 0)
  })

  for (const [what, end] of [
    ['disabled', (core: Core, id: string) => core.ports.customers.disable(id, 1, 1000)],
    ['deleted', (core: Core, id: string) => core.ports.customers.delete(id, 1000)],
  ] as const) {
    it(`is refused if the customer was ${what} during the verification`, async () => {
      const core = memoryCore()
      const { id, email } = await core.customer()
      core.passwords.whileVerifying = () => end(core, id)
      await assert.rejects(login(core, email), InvalidCredentials)
      assert.deepEqual(core.passwords.verified, [hashOf('right'), null])
      assert.equal(core.store.tokens.size, 0)
    })
  }

  it('gives up after three verifications if the password changes each time', async () => {
    const core = memoryCore(() => ({}))
    const { id, email } = await core.customer()
    // This fake accepts any stored hash that ends in the fake hash of the password.
    core.passwords.verify = async (password, hash) => {
      core.passwords.verified.push(hash)
      const count = core.passwords.verified.length
      await core.ports.customers.setPasswordHash(id, `${count} ${hashOf(password)}`, 1, 1000)
      return hash?.endsWith(hashOf(password)) === true
    }
    await assert.rejects(login(core, email), InvalidCredentials)
    assert.deepEqual(core.passwords.verified, [hashOf('right'), '1 hash of right', '2 hash of right'])
    assert.equal(core.store.tokens.size, 0)
  })

  it('does not count hashing against the store deadline', async () => {
    const core = memoryCore()
    const { email } = await core.customer()
    core.passwords.whileVerifying = () => core.clock.advance(60_000)
    await login(core, email)
  })

  it('shares one deadline between its lookup and its change', async () => {
    const timeouts: number[] = []
    const core = memoryCore(({ customers, loginTokens }) => ({
      customers: {
        ...customers,
        async findByEmail(email, timeoutMs) {
          timeouts.push(timeoutMs)
          core.clock.advance(400)
          return customers.findByEmail(email, timeoutMs)
        },
      },
      loginTokens: {
        ...loginTokens,
        async replace(change, timeoutMs) {
          timeouts.push(timeoutMs)
          return loginTokens.replace(change, timeoutMs)
        },
      },
    }))
    await login(core, (await core.customer()).email)
    assert.deepEqual(timeouts, [STORE_TIMEOUT_MS, STORE_TIMEOUT_MS - 400])
  })

  it('is unavailable, not refused, when a store is unavailable', async () => {
    const { port } = unreachable<never>(new Unavailable())
    await assert.rejects(
      login(
        memoryCore(() => ({ customers: port })),
        'a@example.com',
      ),
      Unavailable,
    )
    const core = memoryCore(() => ({
      loginTokens: { ...(port as object), replace: async () => reject() } as never,
    }))
    await assert.rejects(login(core, (await core.customer()).email), Unavailable)
  })
})

const GONE = new Error('gone')

/** An in-memory core with the throttle used in production, and the audit events it recorded. */
function createThrottledCore(failures = 3) {
  const events: [AuditEventName, unknown][] = []
  const limits = { loginLimitAccount: { failures, windowMs: 900_000 }, loginLimitAddress: null }
  const core = memoryCore(
    ({ clock }) => ({
      throttle: memoryLoginThrottle(limits, clock),
      audit: { record: (event, fields) => void events.push([event, fields]) },
    }),
    limits,
  )
  return {
    core,
    events,
    from: (email: string, password: string, requester: Partial<Requester> = {}) =>
      core.login({ email, password }, core.deadline(), aRequester(requester)),
  }
}

describe('A throttled login', () => {
  it('is refused without a verification once the limit is reached, and is audited', async () => {
    const { core, events, from } = createThrottledCore()
    const { email } = await core.customer()
    for (let i = 0; i < 3; i++) await assert.rejects(from(email, 'wrong'), InvalidCredentials)
    await assert.rejects(from(email, 'right'), (error: unknown) => {
      assert.ok(error instanceof TooManyLogins)
      assert.deepEqual(error.limit, {
        name: 'account',
        failures: 3,
        windowMs: 900_000,
        retryAfterMs: 900_000,
      })
      return true
    })
    assert.equal(core.passwords.verified.length, 3)
    assert.deepEqual(events.at(-1), [
      'login.throttled',
      { requestId: 'a-request', address: '127.0.0.1', reason: 'account' },
    ])
    core.clock.advance(900_000)
    await from(email, 'right')
  })

  it('counts failures for an unknown e-mail, in any case, like those of a customer', async () => {
    const { core, from } = createThrottledCore()
    for (const email of ['unknown@example.com', 'UNKNOWN@example.com', ' unknown@example.com']) {
      await assert.rejects(from(email, 'wrong'), InvalidCredentials)
    }
    await assert.rejects(from('unknown@example.com', 'wrong'), TooManyLogins)
    assert.equal(core.passwords.verified.length, 3)
  })

  it('counts parallel failures like consecutive failures', async () => {
    const { core, events, from } = createThrottledCore()
    const { email } = await core.customer()
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => from(email, 'wrong')))
    const reasons = outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason.constructor)
    assert.equal(reasons.filter((reason) => reason === InvalidCredentials).length, 3)
    assert.equal(reasons.filter((reason) => reason === TooManyLogins).length, 47)
    assert.equal(core.passwords.verified.length, 3)
    assert.equal(events.filter(([event]) => event === 'login.throttled').length, 47)
  })

  it('with the right password succeeds in parallel with others', async () => {
    const { core, from } = createThrottledCore()
    const { id, email } = await core.customer()
    await Promise.all(Array.from({ length: 20 }, () => from(email, 'right')))
    const states = [...core.store.tokens.values()].filter(({ customerId }) => customerId === id)
    assert.equal(states.filter(({ revokedAtMs }) => revokedAtMs === null).length, 1)
  })

  it('with the right password resets the earlier failures', async () => {
    const { core, from } = createThrottledCore()
    const { email } = await core.customer()
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 2; i++) await assert.rejects(from(email, 'wrong'), InvalidCredentials)
      await from(email, 'right')
    }
  })

  it('releases its slot when its client disconnects', async () => {
    const { core, from } = createThrottledCore(1)
    const { email } = await core.customer()
    const gone = new AbortController()
    core.passwords.whileVerifying = (count) => {
      if (count > 1) return
      gone.abort(GONE)
      throw GONE
    }
    await assert.rejects(from(email, 'right', { signal: gone.signal }), GONE)
    await from(email, 'right')
  })

  it('waits for other logins from its address and leaves the queue when its client disconnects', async () => {
    const { core, from } = createThrottledCore(1)
    const { email } = await core.customer()
    const first = deferred<void>()
    core.passwords.whileVerifying = (count) => (count === 1 ? first.promise : undefined)
    const gone = new AbortController()
    const logins = [from(email, 'right'), from(email, 'right', { signal: gone.signal }), from(email, 'right')]
    await turn()
    assert.equal(core.passwords.verified.length, 1)
    gone.abort(GONE)
    await assert.rejects(logins[1] as Promise<unknown>, GONE)
    first.resolve()
    await Promise.all([logins[0], logins[2]])
  })

  it('always leaves the hashing queue', async () => {
    for (const failing of ['nothing', 'credentials', 'throttle'] as const) {
      const { core, from } = createThrottledCore(1)
      const { email } = await core.customer()
      let queued = 0
      core.passwords.queue = () => {
        queued += 1
        return { ...core.passwords, leave: () => void queued-- }
      }
      if (failing === 'nothing') await from(email, 'right')
      else await assert.rejects(from(email, 'wrong'), InvalidCredentials)
      if (failing === 'throttle') await assert.rejects(from(email, 'right'), TooManyLogins)
      assert.equal(queued, 0)
    }
  })

  it('takes no slot when passwords cannot be verified', async () => {
    const { core, events, from } = createThrottledCore(1)
    const { email } = await core.customer()
    const { queue } = core.passwords
    core.passwords.queue = reject
    await assert.rejects(from(email, 'wrong'), Unavailable)
    core.passwords.queue = queue
    assert.deepEqual(events, [])
    await from(email, 'right')
  })
})

function reject(): never {
  throw new Unavailable()
}
