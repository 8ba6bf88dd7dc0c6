import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HashingQueue } from '../../src/adapters/bcrypt/hashing-queue.ts'
import { bcryptPasswordHasher } from '../../src/adapters/bcrypt/password-hasher.ts'
import type { HashingRequest } from '../../src/application/ports/password-hasher.ts'
import type { Customer } from '../../src/domain/customer.ts'
import { InvalidCredentials, InvalidToken, Unavailable, ValidationFailed } from '../../src/domain/errors.ts'
import { anUnknownSecret, memoryCore } from '../support/core.ts'
import { hashOf } from '../support/fakes.ts'
import { aRequester } from '../support/idle-ports.ts'

const NEW = 'another horse 10'
const PURPOSE = 'password-reset'
const WHO = { requestId: 'r1', address: '192.0.2.7' }
const { signal: SIGNAL } = new AbortController()

async function start(replaced?: Parameters<typeof memoryCore>[0]) {
  const notified: Customer[] = []
  const core = memoryCore(replaced, { onPasswordChange: (customer) => notified.push(customer) })
  const customer = await core.customer()
  const issue = async () => {
    const token = { customerId: customer.id, purpose: PURPOSE, ttlMs: 1000 }
    return (await core.oneTimeTokens.issue(token, core.deadline()))?.secret ?? ''
  }
  const reset = (secret: string, newPassword = NEW, purpose = PURPOSE, signal = SIGNAL) =>
    core.passwordChanges.reset(
      { secret, purpose, newPassword },
      core.deadline(),
      aRequester({ ...WHO, signal }),
    )
  const login = (password: string) => core.login({ email: customer.email, password }, core.deadline())
  return { core, customer, notified, issue, reset, login }
}

describe('A reset of the password', () => {
  it('revokes every token, is recorded and notified, and works once', async () => {
    const { core, customer, notified, issue, reset, login } = await start()
    const held = [await core.token(customer), await core.token(customer, { name: 'bot' })]
    const secret = await issue()
    core.recorded.length = 0
    assert.deepEqual(await reset(secret), customer)
    const of = { ...WHO, customerId: customer.id }
    assert.deepEqual(core.recorded.splice(0), [
      { ...of, event: 'one_time_token.used', purpose: PURPOSE },
      { ...of, event: 'customer.password_reset' },
      { ...of, event: 'token.revoked', reason: 'password_set', count: 2 },
    ])
    assert.deepEqual(notified, [customer])
    for (const token of held)
      await assert.rejects(async () => core.authenticate(token.secret, core.deadline()), InvalidToken)
    await assert.rejects(login('right'), InvalidCredentials)
    assert.equal(await reset(secret, 'a third horse 11'), null)
    await login(NEW)
    assert.equal(notified.length, 1)
  })

  it('is acknowledged only once every instance has applied it', async () => {
    const { core, customer, issue, reset } = await start()
    await reset(await issue())
    assert.deepEqual(core.announced, [{ kind: 'customer', customerId: customer.id }])
  })

  it('forgets the failed logins of the account, and does not need the throttle to respond', async () => {
    const forgotten: string[] = []
    const { customer, issue, reset, login } = await start(({ throttle }) => ({
      throttle: {
        ...throttle,
        async forget(account) {
          forgotten.push(account)
          throw new Unavailable()
        },
      },
    }))
    assert.ok(await reset(await issue()))
    assert.deepEqual(forgotten, [customer.email])
    await login(NEW)
  })

  it('passes on a bug of the throttle', async () => {
    const bug = new TypeError('a bug')
    const { issue, reset } = await start(({ throttle }) => ({
      throttle: { ...throttle, forget: () => Promise.reject(bug) },
    }))
    await assert.rejects(reset(await issue()), bug)
  })

  it('is refused for another purpose and after another password, without hashing', async () => {
    const { core, customer, issue, reset } = await start()
    const secret = await issue()
    assert.equal(await reset(secret, NEW, 'sign-up'), null)
    await core.customers.setPassword(customer.id, { password: 'yet another 12' }, core.deadline())
    let hashed = 0
    core.passwords.hash = async () => {
      hashed += 1
      return ''
    }
    assert.equal(await reset(secret), null)
    assert.equal(hashed, 0)
  })

  it('with a password that is not allowed leaves the one-time token valid', async () => {
    const { issue, reset } = await start()
    const secret = await issue()
    await assert.rejects(reset(secret, 'short'), (error) => {
      assert.ok(error instanceof ValidationFailed)
      assert.deepEqual(error.errors, { new_password: ['Must have at least 8 characters.'] })
      return true
    })
    assert.ok(await reset(secret))
  })

  it('is refused for a text that is no token and for an unknown token', async () => {
    const { core, reset } = await start()
    for (const secret of ['x', anUnknownSecret()]) assert.equal(await reset(secret), null)
    assert.deepEqual(core.recorded, [{ ...WHO, event: 'token.denied', reason: 'one_time' }])
  })

  const endings: Readonly<
    Record<
      string,
      (core: Awaited<ReturnType<typeof start>>['core'], id: string, secret: string) => Promise<unknown>
    >
  > = {
    'the token is used': ({ oneTimeTokens, deadline }, _, secret) =>
      oneTimeTokens.use({ secret, purpose: PURPOSE }, deadline()),
    'the token expires': async ({ clock }) => clock.advance(1000),
    'the customer is deleted': ({ ports }, id) => ports.customers.delete(id, 1000),
    'the customer is disabled': ({ ports }, id) => ports.customers.disable(id, 1, 1000),
    'another password is set': ({ ports }, id) => ports.customers.setPasswordHash(id, 'set hash', 1, 1000),
  }
  for (const [ending, end] of Object.entries(endings)) {
    it(`is refused when ${ending} while the new password is hashed, and changes nothing`, async () => {
      const { core, customer, notified, issue, reset } = await start()
      const secret = await issue()
      core.passwords.hash = async (password) => {
        await end(core, customer.id, secret)
        core.recorded.length = 0
        return hashOf(password)
      }
      assert.equal(await reset(secret), null)
      assert.deepEqual(core.recorded, [{ ...WHO, event: 'token.denied', reason: 'one_time' }])
      assert.notEqual(core.store.customers.get(customer.id)?.passwordHash, hashOf(NEW))
      assert.deepEqual(notified, [])
    })
  }

  it('does not replace the password that the customer changes while the new one is hashed', async () => {
    const { core, customer, issue, reset, login } = await start()
    const secret = await issue()
    const caller = await core.authenticate((await core.token(customer)).secret, core.deadline())
    const change = { currentPassword: 'right', newPassword: 'the horse of Ana 12' }
    const { hash } = core.passwords
    core.passwords.hash = async (password) => {
      core.passwords.hash = hash
      await core.passwordChanges.change(caller, change, core.deadline(), aRequester())
      return hash(password)
    }
    assert.equal(await reset(secret), null)
    await assert.rejects(login(NEW), InvalidCredentials)
    await login(change.newPassword)
  })

  it('that fails leaves the one-time token valid, and is neither recorded nor notified', async () => {
    let failures = 1
    const { core, customer, notified, issue, reset } = await start(({ customers }) => ({
      customers: {
        ...customers,
        async resetPassword(...args) {
          if (failures-- > 0) throw new Unavailable()
          return customers.resetPassword(...args)
        },
      },
    }))
    const secret = await issue()
    core.recorded.length = 0
    await assert.rejects(reset(secret), Unavailable)
    assert.deepEqual([core.recorded, notified], [[], []])
    assert.deepEqual(await reset(secret), customer)
  })
})

describe('The hash of a password that is reset', () => {
  it('has a slot of the queue for the network, the account and the signal of the requester', async () => {
    const requests: HashingRequest[] = []
    let held = 0
    const { core, issue, reset } = await start(({ passwords }) => ({
      passwords: {
        ...passwords,
        hash: () => assert.fail('It was hashed without a slot.'),
        queue(request) {
          requests.push(request)
          held += 1
          return {
            ...passwords.queue(request),
            hash: (password) => core.passwords.hash(password),
            leave: () => held--,
          }
        },
      },
    }))
    const secret = await issue()
    const failure = new Error('no memory')
    core.passwords.hash = () => Promise.reject(failure)
    await assert.rejects(reset(secret), failure)
    assert.equal(held, 0)
    core.passwords.hash = async (password) => hashOf(password)
    assert.ok(await reset(secret))
    assert.equal(held, 0)
    const { email } = [...core.store.customers.values()][0]?.customer ?? {}
    const request = { source: WHO.address, account: email, isKnown: false, signal: SIGNAL }
    assert.deepEqual(requests, [request, request])
  })

  it('is refused when the queue is full, and the one-time token stays valid', async () => {
    let isFull = true
    const { issue, reset } = await start(({ passwords }) => ({
      passwords: {
        ...passwords,
        queue(request) {
          if (isFull) throw new Unavailable()
          return passwords.queue(request)
        },
      },
    }))
    const secret = await issue()
    await assert.rejects(reset(secret), Unavailable)
    isFull = false
    assert.ok(await reset(secret))
  })

  it('is not computed for a client that has left, and the one-time token stays valid', async () => {
    const { issue, reset } = await start(() => ({ passwords: bcryptPasswordHasher({ cost: 4 }) }))
    const secret = await issue()
    const reason = new Error('The client has left.')
    await assert.rejects(reset(secret, NEW, PURPOSE, AbortSignal.abort(reason)), reason)
    assert.ok(await reset(secret))
  })

  it('of 200 parallel resets with one token is computed at most as often as the queue allows', async () => {
    const queue = new HashingQueue({ threads: 1, expectedMs: 1000 })
    let hashed = 0
    const hash = async (password: string) => {
      hashed += 1
      return hashOf(password)
    }
    const { issue, reset, login } = await start(({ passwords }) => ({
      passwords: {
        ...passwords,
        hash: (password) => queue.run(() => hash(password)),
        queue(request) {
          const slot = queue.take(request)
          return {
            ...passwords.queue(request),
            hash: (password) => slot.run(() => hash(password)),
            leave: slot.leave,
          }
        },
      },
    }))
    const secret = await issue()
    const outcomes = await Promise.allSettled(Array.from({ length: 200 }, () => reset(secret)))
    const customers = outcomes.flatMap((outcome) =>
      outcome.status === 'fulfilled' ? (outcome.value ?? []) : [],
    )
    assert.equal(customers.length, 1)
    assert.ok(hashed < 20, `${hashed} hashes`)
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof Unavailable)
    await login(NEW)
  })
})
