import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  InvalidCredentials,
  InvalidToken,
  LoginTokenRequired,
  TooManyLogins,
  Unavailable,
  ValidationFailed,
} from '../../src/domain/errors.ts'
import { type Core, memoryCore } from '../support/core.ts'
import { hashOf } from '../support/fakes.ts'
import { aRequester } from '../support/idle-ports.ts'

const NEW = 'another horse 10'
const WHO = { requestId: 'r1', address: '192.0.2.7' }
const requester = () => aRequester(WHO)

async function start(...args: Parameters<typeof memoryCore>) {
  const core = memoryCore(...args)
  const customer = await core.customer()
  const { secret, token } = await core.token(customer)
  const caller = await core.authenticate(secret, core.deadline())
  const change = (currentPassword = 'right', newPassword = NEW, by = caller) =>
    core.passwordChanges.change(by, { currentPassword, newPassword }, core.deadline(), requester())
  return { core, customer, secret, token, caller, change }
}

const storedHash = async (core: Core, email: string) =>
  (await core.ports.customers.findByEmail(email, 1000))?.passwordHash

describe('A change of the password by its customer', () => {
  it('revokes every other token, keeps the current one, and is recorded', async () => {
    const { core, customer, secret, change } = await start()
    const others = [await core.token(customer), await core.token(customer, { name: 'bot' })]
    assert.equal(await change(), 2)
    assert.equal(await storedHash(core, customer.email), hashOf(NEW))
    await core.authenticate(secret, core.deadline())
    for (const other of others)
      await assert.rejects(async () => core.authenticate(other.secret, core.deadline()), InvalidToken)
    const of = { ...WHO, customerId: customer.id }
    assert.deepEqual(core.recorded.slice(0, 2), [
      { ...of, event: 'customer.password_changed' },
      { ...of, event: 'token.revoked', reason: 'password_set', count: 2 },
    ])
  })

  it('that revokes none records no revocation', async () => {
    const { core, change } = await start()
    assert.equal(await change(), 0)
    assert.deepEqual(
      core.recorded.map(({ event }) => event),
      ['customer.password_changed'],
    )
  })

  it('is refused to a named token, and with an invalid new password, before the current one is verified', async () => {
    const { core, customer, change } = await start()
    const bot = await core.token(customer, { name: 'bot' })
    const caller = await core.authenticate(bot.secret, core.deadline())
    await assert.rejects(change('right', NEW, caller), LoginTokenRequired)
    await assert.rejects(change('right', 'short'), (error) => {
      assert.ok(error instanceof ValidationFailed)
      assert.deepEqual(error.errors, { new_password: ['Must have at least 8 characters.'] })
      return true
    })
    assert.deepEqual(core.passwords.verified, [])
  })

  it('is refused with a wrong current password, and recorded', async () => {
    const { core, customer, change } = await start()
    await assert.rejects(change('wrong'), InvalidCredentials)
    assert.equal(await storedHash(core, customer.email), hashOf('right'))
    assert.deepEqual(core.recorded, [
      { ...WHO, event: 'login.failed', customerId: customer.id, reason: 'current_password' },
    ])
  })

  it('is refused when another customer has the e-mail by now, even with that customer’s password', async () => {
    const { core, customer, change } = await start()
    await core.ports.customers.delete(customer.id, 1000)
    const other = await core.customer({ email: customer.email })
    await assert.rejects(change(), InvalidCredentials)
    assert.equal(await storedHash(core, other.email), hashOf('right'))
  })

  it('is refused while the throttle refuses, and recorded', async () => {
    const limit = { name: 'account', failures: 3, windowMs: 1000, retryAfterMs: 500 } as const
    const { core, change } = await start(({ throttle }) => ({
      throttle: { ...throttle, take: async () => ({ kind: 'refused', limit }) },
    }))
    await assert.rejects(change(), TooManyLogins)
    assert.deepEqual(core.recorded, [{ ...WHO, event: 'login.throttled', reason: 'account' }])
  })

  it('verifies again when the hash changed during the verification', async () => {
    const { core, customer, change } = await start()
    core.passwords.whileVerifying = async (count) => {
      if (count === 1) await core.ports.customers.rehash(customer.id, hashOf('right'), hashOf('other'), 1000)
    }
    await assert.rejects(change(), InvalidCredentials)
    assert.equal(await storedHash(core, customer.email), hashOf('other'))
    assert.deepEqual(core.passwords.verified, [hashOf('right'), hashOf('other')])
  })

  it('is refused when the current token was revoked meanwhile, and changes nothing', async () => {
    const { core, customer, change } = await start()
    core.passwords.whileVerifying = (count) =>
      count === 1 && core.ports.loginTokens.revokeByCustomer(customer.id, {}, core.clock.nowMs(), 1000)
    await assert.rejects(change(), InvalidToken)
    assert.equal(await storedHash(core, customer.email), hashOf('right'))
    assert.deepEqual(core.passwords.verified, Array(3).fill(hashOf('right')))
    assert.deepEqual(core.recorded, [])
  })

  it('notifies the program of the customer, and not when it is refused', async () => {
    const notified: unknown[] = []
    const { customer, change } = await start(undefined, { onPasswordChange: (of) => notified.push(of) })
    await assert.rejects(change('wrong'), InvalidCredentials)
    assert.deepEqual(notified, [])
    await change()
    assert.deepEqual(notified, [customer])
  })

  it('that may have happened is not acknowledged', async () => {
    const { core, change } = await start(({ customers }) => ({
      customers: { ...customers, changePassword: () => Promise.reject(new Unavailable()) },
    }))
    await assert.rejects(change(), Unavailable)
    assert.deepEqual(core.recorded, [])
  })
})
