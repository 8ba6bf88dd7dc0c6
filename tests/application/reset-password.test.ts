import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Customer } from '../../src/domain/customer.ts'
import { InvalidCredentials, InvalidToken, Unavailable, ValidationFailed } from '../../src/domain/errors.ts'
import { memoryCore } from '../support/core.ts'

const NEW = 'another horse 10'
const PURPOSE = 'password-reset'
const WHO = { requestId: 'r1', address: '192.0.2.7' }

async function start(replaced?: Parameters<typeof memoryCore>[0]) {
  const notified: Customer[] = []
  const core = memoryCore(replaced, { onPasswordChange: (customer) => notified.push(customer) })
  const customer = await core.customer()
  const issue = async () => {
    const token = { customerId: customer.id, purpose: PURPOSE, ttlMs: 1000 }
    return (await core.oneTimeTokens.issue(token, core.deadline()))?.secret ?? ''
  }
  const reset = (secret: string, newPassword = NEW, purpose = PURPOSE) =>
    core.passwordChanges.reset({ secret, purpose, newPassword }, core.deadline(), WHO)
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

  it('is refused when the token is used or the customer deleted while the password is hashed', async () => {
    for (const meanwhile of ['used', 'deleted'] as const) {
      const { core, customer, notified, issue, reset } = await start(({ oneTimeTokens, customers }) => ({
        oneTimeTokens: {
          ...oneTimeTokens,
          async use(presented, timeoutMs) {
            if (meanwhile === 'used') await oneTimeTokens.use(presented, timeoutMs)
            const found = await oneTimeTokens.use(presented, timeoutMs)
            await customers.delete(customer.id, timeoutMs)
            return found
          },
        },
      }))
      assert.equal(await reset(await issue()), null, meanwhile)
      assert.ok(core.recorded.every(({ event }) => event !== 'customer.password_reset'))
      assert.deepEqual(notified, [])
    }
  })
})
