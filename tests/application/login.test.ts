import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { STORE_WAIT_MS } from '../../src/application/latchkey.ts'
import { InvalidCredentials, Unavailable } from '../../src/domain/errors.ts'
import { tokenState } from '../../src/domain/login-token.ts'
import { type Core, memoryCore, unreachable } from '../support/core.ts'
import { hashOf } from '../support/fakes.ts'

const login = (core: Core, email: string, password = 'right') =>
  core.login({ email, password }, core.patience())

describe('A login', () => {
  it('hands out a secret that authenticates its customer, with a token that may do everything', async () => {
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
    })
    const caller = await core.authenticate(secret, core.patience())
    assert.deepEqual({ token: caller.token, customer: caller.customer }, { token, customer })
  })

  it('never expires when the lifetime is null', async () => {
    const core = memoryCore(() => ({}), { tokenTtlMs: null })
    const { token } = await login(core, (await core.customer()).email)
    assert.equal(token.expiresAtMs, null)
  })

  it('counts the lifetime from the moment when the password was right, not from the request', async () => {
    const core = memoryCore()
    const { email } = await core.customer()
    core.passwords.whileVerifying = () => core.clock.advance(250)
    const beganMs = core.clock.nowMs()
    const { token } = await login(core, email)
    assert.equal(token.createdAtMs, beganMs + 250)
  })

  it('takes the e-mail in any ASCII case and with blanks around it, the password exactly as sent', async () => {
    const core = memoryCore()
    await core.customer({ email: 'Ana.Ruiz@Example.COM' }, ' Right ')
    for (const email of ['ana.ruiz@example.com', ' ANA.RUIZ@EXAMPLE.COM\t', 'Ana.Ruiz@Example.COM']) {
      await login(core, email, ' Right ')
      for (const password of ['Right', ' right ', ' Right', 'Right ', ' Right  ', '']) {
        await assert.rejects(login(core, email, password), InvalidCredentials)
      }
    }
  })

  it('asks for the e-mail folded, so that a store need not trim', async () => {
    const asked: string[] = []
    const core = memoryCore(({ customers }) => ({
      customers: {
        ...customers,
        async findByEmail(email) {
          asked.push(email)
          return null
        },
      },
    }))
    await assert.rejects(login(core, '\t Ana@Example.COM \r\n'), InvalidCredentials)
    assert.deepEqual(asked, ['ana@example.com'])
  })

  it('revokes the earlier login token and no other', async () => {
    const core = memoryCore()
    const customer = await core.customer()
    const bot = await core.token(customer, { name: 'bot' })
    const other = await core.customer()
    const stranger = await login(core, other.email)
    const first = await login(core, customer.email)
    const second = await login(core, customer.email)
    await assert.rejects(async () => core.authenticate(first.secret, core.patience()))
    for (const { secret } of [bot, stranger, second]) await core.authenticate(secret, core.patience())
  })

  it('answers the same, after the same verifications, whatever the cause of a refusal', async () => {
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

  it('is refused when the password hasher says yes to a customer who may not log in', async () => {
    const yes = { hash: async () => '', verify: async () => true }
    const core = memoryCore(() => ({ passwords: yes }))
    const disabled = await core.customer({ disabledAtMs: 1 })
    const without = await core.customer({}, null)
    for (const email of [disabled.email, without.email, 'nobody@example.com']) {
      await assert.rejects(login(core, email), InvalidCredentials)
    }
    assert.equal(core.store.tokens.size, 0)
  })

  it('verifies again when the password was replaced by a hash of the same one meanwhile', async () => {
    const passwords = { hash: async () => '', verify: async () => true }
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

  it('with the old password is refused when the password changed while it was verified', async () => {
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
    it(`is refused when the customer was ${what} while the password was verified`, async () => {
      const core = memoryCore()
      const { id, email } = await core.customer()
      core.passwords.whileVerifying = () => end(core, id)
      await assert.rejects(login(core, email), InvalidCredentials)
      assert.deepEqual(core.passwords.verified, [hashOf('right'), null])
      assert.equal(core.store.tokens.size, 0)
    })
  }

  it('gives up after three verifications when the password changes each time', async () => {
    const core = memoryCore(() => ({}))
    const { id, email } = await core.customer()
    // The fake takes any text that ends in the password for its hash.
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

  it('does not spend on hashing what the request may wait for its stores', async () => {
    const core = memoryCore()
    const { email } = await core.customer()
    core.passwords.whileVerifying = () => core.clock.advance(60_000)
    await login(core, email)
  })

  it('shares one patience between its look-up and its change', async () => {
    const waits: number[] = []
    const core = memoryCore(({ customers, loginTokens }) => ({
      customers: {
        ...customers,
        async findByEmail(email, waitMs) {
          waits.push(waitMs)
          core.clock.advance(400)
          return customers.findByEmail(email, waitMs)
        },
      },
      loginTokens: {
        ...loginTokens,
        async replace(change, waitMs) {
          waits.push(waitMs)
          return loginTokens.replace(change, waitMs)
        },
      },
    }))
    await login(core, (await core.customer()).email)
    assert.deepEqual(waits, [STORE_WAIT_MS, STORE_WAIT_MS - 400])
  })

  it('is unavailable, not refused, when a store is', async () => {
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

function reject(): never {
  throw new Unavailable()
}
