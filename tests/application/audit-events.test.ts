import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AUDIT_EVENTS } from '../../src/application/audit-events.ts'
import type { AuditLog } from '../../src/application/ports/audit-log.ts'
import {
  InsufficientScope,
  InsufficientServiceScope,
  InvalidCredentials,
  InvalidServiceToken,
  InvalidToken,
  LoginTokenRequired,
  TooManyLogins,
  Unavailable,
} from '../../src/domain/errors.ts'
import { anUnknownSecret, type Core, memoryCore, SERVICE } from '../support/core.ts'
import { aRequester } from '../support/idle-ports.ts'

const REQUEST = { requestId: 'r1', address: '192.0.2.7' }
const requester = () => aRequester({ requestId: 'r1', address: '192.0.2.7' })

const login = (core: Core, email: string, password = 'right') =>
  core.login({ email, password }, core.deadline(), requester())
const authenticate = async (core: Core, secret: string) =>
  core.authenticate(secret, core.deadline(), requester())
/** The events recorded since the last call. */
const takeRecorded = (core: Core) => core.recorded.splice(0)

describe('A login records', () => {
  it('the number of revoked tokens, the issued token and its success, in this order', async () => {
    const core = memoryCore()
    const { id, email } = await core.customer()
    for (const revoked of [
      [],
      [{ ...REQUEST, event: 'token.revoked', customerId: id, reason: 'replaced', count: 1 }],
    ]) {
      const { token } = await login(core, email)
      const of = { ...REQUEST, customerId: id, tokenId: token.id }
      assert.deepEqual(takeRecorded(core), [
        ...revoked,
        { ...of, event: 'token.issued', tokenName: 'login' },
        { ...of, event: 'login.succeeded' },
      ])
    }
  })

  it('a failure once, with its reason and without the e-mail sent', async () => {
    const core = memoryCore()
    const known = await core.customer()
    const disabled = await core.customer({ disabledAtMs: 1 })
    const without = await core.customer({}, null)
    for (const [email, password, customerId, reason] of [
      [known.email, 'wrong', known.id, 'password'],
      [without.email, 'right', without.id, 'password'],
      [disabled.email, 'right', disabled.id, 'disabled'],
      ['hunter2!', 'right', null, 'unknown'],
    ] as const) {
      await assert.rejects(login(core, email, password), InvalidCredentials)
      assert.deepEqual(takeRecorded(core), [{ ...REQUEST, event: 'login.failed', customerId, reason }])
    }
  })

  it('a failure only after the throttle counted it', async () => {
    const steps: string[] = []
    const core = memoryCore(({ throttle }) => ({
      throttle: {
        ...throttle,
        async settle(_, outcome) {
          steps.push(outcome)
          if (steps.length > 1) throw new Unavailable()
        },
      },
      audit: { record: (event) => void steps.push(event) },
    }))
    await assert.rejects(login(core, 'nobody@example.com'), InvalidCredentials)
    assert.deepEqual(steps.splice(1), ['login.failed'])
    await assert.rejects(login(core, 'nobody@example.com'), Unavailable)
    assert.deepEqual(steps, ['failed', 'failed'])
  })

  it('that it was throttled, and by which limit', async () => {
    for (const name of ['account', 'address', 'guesses'] as const) {
      const limit = { name, failures: 3, windowMs: 1000, retryAfterMs: 500 }
      const core = memoryCore(({ throttle }) => ({
        throttle: { ...throttle, take: async () => ({ kind: 'refused', limit }) },
      }))
      const { email } = await core.customer()
      await assert.rejects(login(core, email), TooManyLogins)
      assert.deepEqual(takeRecorded(core), [{ ...REQUEST, event: 'login.throttled', reason: name }])
    }
  })

  it('nothing when its outcome is unknown', async () => {
    const core = memoryCore(({ loginTokens }) => ({
      loginTokens: {
        ...loginTokens,
        async replace(token, timeoutMs) {
          await loginTokens.replace(token, timeoutMs)
          throw new Unavailable()
        },
      },
    }))
    const { email } = await core.customer()
    await assert.rejects(login(core, email), Unavailable)
    assert.deepEqual(takeRecorded(core), [])
  })
})

describe('Authentication records', () => {
  it('a refused well-formed token with the reason and, if there is one, the owner', async () => {
    const core = memoryCore()
    const customer = await core.customer()
    const revoked = await core.token(customer, { revokedAtMs: 1 })
    const expired = await core.token(customer, { name: 'bot', expiresAtMs: core.clock.nowMs() })
    const disabled = await core.customer({ disabledAtMs: 1 })
    const { digest } = core.ports.secrets.issue()
    const ofDisabled = {
      secret: anUnknownSecret(),
      token: { ...expired.token, id: 't', customerId: disabled.id },
    }
    core.store.tokens.set(core.ports.secrets.digestOf(ofDisabled.secret) ?? digest, ofDisabled.token)
    for (const [reason, { secret, token }] of [
      ['revoked', revoked],
      ['expired', expired],
      ['disabled', ofDisabled],
    ] as const) {
      await assert.rejects(authenticate(core, secret), InvalidToken)
      const of = { customerId: token.customerId, tokenId: token.id }
      assert.deepEqual(takeRecorded(core), [{ ...REQUEST, ...of, event: 'token.denied', reason }])
    }
    await assert.rejects(authenticate(core, anUnknownSecret()), InvalidToken)
    assert.deepEqual(takeRecorded(core), [{ ...REQUEST, event: 'token.denied', reason: 'unknown' }])
  })

  it('nothing for a valid token, a malformed token, or an unavailable store', async () => {
    const core = memoryCore(({ loginTokens }) => ({
      loginTokens: {
        ...loginTokens,
        async findByDigest(digest, timeoutMs) {
          if (isAway) throw new Unavailable()
          return loginTokens.findByDigest(digest, timeoutMs)
        },
      },
    }))
    let isAway = false
    const { secret } = await core.token(await core.customer())
    await authenticate(core, secret)
    await assert.rejects(authenticate(core, `${secret}x`), InvalidToken)
    isAway = true
    await assert.rejects(authenticate(core, secret), Unavailable)
    assert.deepEqual(takeRecorded(core), [])
  })

  it('a valid token only if it lacks a required ability', async () => {
    const core = memoryCore()
    const { secret, token } = await core.token(await core.customer(), { abilities: ['orders:read'] })
    const caller = await authenticate(core, secret)
    core.authorize(caller, ['orders:read'], requester())
    assert.deepEqual(takeRecorded(core), [])
    assert.throws(() => core.authorize(caller, ['orders:write'], requester()), InsufficientScope)
    const of = { customerId: token.customerId, tokenId: token.id }
    assert.deepEqual(takeRecorded(core), [
      { ...REQUEST, ...of, event: 'token.denied', reason: 'insufficient_scope' },
    ])
  })
})

describe('A logout records', () => {
  it('the token that it revoked, or a denied token if it was already revoked or expired', async () => {
    const core = memoryCore()
    const { id, email } = await core.customer()
    const { secret, token } = await login(core, email)
    const caller = await authenticate(core, secret)
    const logout = () => core.logout(caller, core.deadline(), requester())
    const of = { ...REQUEST, customerId: id, tokenId: token.id }
    takeRecorded(core)
    await logout()
    assert.deepEqual(takeRecorded(core), [{ ...of, event: 'token.revoked', reason: 'logout' }])
    await assert.rejects(logout(), InvalidToken)
    assert.deepEqual(takeRecorded(core), [{ ...of, event: 'token.denied', reason: 'revoked' }])
    core.clock.advance(3_600_000)
    await assert.rejects(logout(), InvalidToken)
    assert.deepEqual(takeRecorded(core), [{ ...of, event: 'token.denied', reason: 'expired' }])
  })

  it('nothing for a named token or an unknown outcome', async () => {
    const core = memoryCore(({ loginTokens }) => ({
      loginTokens: { ...loginTokens, revoke: () => Promise.reject(new Unavailable()) },
    }))
    const customer = await core.customer()
    for (const [name, refusal] of [
      ['bot', LoginTokenRequired],
      ['login', Unavailable],
    ] as const) {
      const caller = await authenticate(core, (await core.token(customer, { name })).secret)
      await assert.rejects(core.logout(caller, core.deadline(), requester()), refusal)
      assert.deepEqual(takeRecorded(core), [])
    }
  })
})

it('A service route records only refused requests', () => {
  const core = memoryCore()
  core.verifyServiceToken(SERVICE.secret, ['status'], requester())
  assert.deepEqual(takeRecorded(core), [])
  for (const [presented, reason] of [
    [null, 'missing'],
    ['canary', 'unknown'],
  ] as const) {
    assert.throws(() => core.verifyServiceToken(presented, [], requester()), InvalidServiceToken)
    assert.deepEqual(takeRecorded(core), [{ ...REQUEST, event: 'service.denied', reason }])
  }
  const call = () => core.verifyServiceToken(SERVICE.secret, ['ops'], requester())
  assert.throws(call, InsufficientServiceScope)
  const denied = { ...REQUEST, event: 'service.denied', service: 'monitor', reason: 'insufficient_scope' }
  assert.deepEqual(takeRecorded(core), [denied])
})

describe('An operator’s change of a customer', () => {
  it('is recorded, with the number of revoked tokens if there are any', async () => {
    const core = memoryCore()
    const { customers, deadline } = core
    const added = await customers.add({ email: 'ana@example.com', name: 'Ana', password: null }, deadline())
    assert.ok(added)
    const customerId = added.id
    const happened = (event: string, reason: string | null = null, count = 0) => {
      const events = takeRecorded(core)
      const revoked = { event: 'token.revoked', customerId, reason, count }
      assert.deepEqual(events, [{ event, customerId }, ...(reason === null ? [] : [revoked])])
    }
    happened('customer.added')
    const set = () => customers.setPassword(customerId, { password: 'a password' }, deadline())
    await set()
    happened('customer.password_set')
    for (const name of ['a', 'b', 'c']) await core.token(added, { name })
    await set()
    happened('customer.password_set', 'password_set', 3)
    await core.token(added)
    await customers.disable(customerId, deadline())
    happened('customer.disabled', 'disabled', 1)
    await customers.disable(customerId, deadline())
    happened('customer.disabled')
    await customers.enable(customerId, deadline())
    happened('customer.enabled')
    await core.token(added)
    await customers.delete(customerId, deadline())
    happened('customer.deleted')
  })

  it('is not recorded for an unknown customer, a taken e-mail or an unknown outcome', async () => {
    const core = memoryCore()
    const { email } = await core.customer()
    const act = async ({ customers, deadline }: Core) => [
      await customers.add({ email, name: null, password: null }, deadline()),
      await customers.setPassword('x', { password: 'a password' }, deadline()),
      await customers.disable('x', deadline()),
      await customers.enable('x', deadline()),
      await customers.delete('x', deadline()),
    ]
    assert.deepEqual(await act(core), [null, null, null, false, false])
    const lost = () => Promise.reject(new Unavailable())
    const away = memoryCore(({ customers }) => ({
      customers: {
        ...customers,
        add: lost,
        setPasswordHash: lost,
        disable: lost,
        enable: lost,
        delete: lost,
      },
    }))
    await assert.rejects(act(away), Unavailable)
    for (const what of ['disable', 'enable', 'delete'] as const)
      await assert.rejects(away.customers[what]('x', away.deadline()), Unavailable)
    assert.deepEqual([takeRecorded(core), takeRecorded(away)], [[], []])
  })
})

describe('When the audit log cannot be written', () => {
  const full: AuditLog = {
    record() {
      throw new Unavailable()
    },
  }

  it('requests with an audit event are unavailable, and valid tokens are accepted', async () => {
    const core = memoryCore(() => ({ audit: full }))
    const customer = await core.customer()
    const { secret } = await core.token(customer)
    const caller = await authenticate(core, secret)
    await assert.rejects(login(core, customer.email), Unavailable)
    await assert.rejects(login(core, customer.email, 'wrong'), Unavailable)
    await assert.rejects(authenticate(core, anUnknownSecret()), Unavailable)
    await assert.rejects(core.logout(caller, core.deadline()), Unavailable)
    assert.throws(() => core.verifyServiceToken(null), Unavailable)
    await assert.rejects(core.customers.disable(customer.id, core.deadline()), Unavailable)
  })

  it('a wrong password still counts as a failure', async () => {
    const outcomes: string[] = []
    const core = memoryCore(({ throttle }) => ({
      throttle: { ...throttle, settle: async (_, outcome) => void outcomes.push(outcome) },
      audit: full,
    }))
    await assert.rejects(login(core, (await core.customer()).email, 'wrong'), Unavailable)
    assert.deepEqual(outcomes, ['failed'])
  })
})

it('No event has a field for an e-mail, a secret, a password or a digest', () => {
  const fields = Object.values(AUDIT_EVENTS).flatMap(
    ({ recordedFields }) => recordedFields as readonly string[],
  )
  assert.deepEqual([...new Set(fields)].sort(), [
    'abilities',
    'count',
    'customerId',
    // The name of an event.
    'deniedEvent',
    // Of a one-time token.
    'purpose',
    'service',
    // Names, not secrets.
    'serviceTokens',
    'tokenId',
    'tokenName',
  ])
})
