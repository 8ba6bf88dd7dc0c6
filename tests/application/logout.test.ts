import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { LoginTokens } from '../../src/application/ports/login-tokens.ts'
import { InvalidToken, LoginTokenRequired, MalformedToken, Unavailable } from '../../src/domain/errors.ts'
import { anUnknownSecret, memoryCore, unreachable } from '../support/core.ts'
import { deferred, turn } from '../support/fakes.ts'
import { aRequester } from '../support/idle-ports.ts'

describe('A logout', () => {
  it('revokes only the caller’s token, at the current time', async () => {
    const core = memoryCore()
    const customer = await core.customer()
    const bot = await core.token(customer, { name: 'bot' })
    const stranger = await core.token(await core.customer())
    const { secret } = await core.token(customer)
    const caller = await core.authenticate(secret, core.deadline())
    core.clock.advance(7)
    await core.logout(caller, core.deadline())
    assert.equal(core.store.tokens.get(caller.digest)?.revokedAtMs, core.clock.nowMs())
    await assert.rejects(async () => core.authenticate(secret, core.deadline()), InvalidToken)
    for (const other of [bot, stranger]) await core.authenticate(other.secret, core.deadline())
  })

  it('with a named token is refused without a store call', async () => {
    const { port, calls } = unreachable<LoginTokens>(new Unavailable())
    const core = memoryCore(() => ({ loginTokens: port }))
    const other = memoryCore()
    for (const name of ['bot', 'Login', 'login ', '']) {
      const { secret } = await other.token(await other.customer(), { name })
      const caller = await other.authenticate(secret, other.deadline())
      await assert.rejects(core.logout(caller, core.deadline()), LoginTokenRequired)
    }
    assert.deepEqual(calls, [])
  })

  it('of a token that was already revoked rejects with InvalidToken', async () => {
    const core = memoryCore()
    const { secret } = await core.token(await core.customer())
    const caller = await core.authenticate(secret, core.deadline())
    await core.logout(caller, core.deadline())
    const revokedAtMs = core.store.tokens.get(caller.digest)?.revokedAtMs
    core.clock.advance(5)
    await assert.rejects(core.logout(caller, core.deadline()), InvalidToken)
    assert.equal(core.store.tokens.get(caller.digest)?.revokedAtMs, revokedAtMs)
  })

  it('is unavailable when its outcome is unknown', async () => {
    const core = memoryCore(({ loginTokens }) => ({
      loginTokens: {
        ...loginTokens,
        async revoke(token, atMs, timeoutMs) {
          await loginTokens.revoke(token, atMs, timeoutMs)
          throw new Unavailable()
        },
      },
    }))
    const { secret } = await core.token(await core.customer())
    const caller = await core.authenticate(secret, core.deadline())
    await assert.rejects(core.logout(caller, core.deadline()), Unavailable)
    await assert.rejects(async () => core.authenticate(secret, core.deadline()), InvalidToken)
  })
})

describe('The authentication before a logout', () => {
  it('refuses an invalid token only once every instance has applied its invalidation', async () => {
    const core = memoryCore()
    const customer = await core.customer()
    const disabled = await core.customer()
    const secrets = [
      anUnknownSecret(),
      (await core.token(customer, { revokedAtMs: core.clock.nowMs() })).secret,
      (await core.token(customer, { expiresAtMs: core.clock.nowMs() })).secret,
      (await core.token(disabled)).secret,
    ]
    await core.ports.customers.disable(disabled.id, core.clock.nowMs(), 1000)
    for (const secret of secrets) {
      const applied = deferred<void>()
      const publish = () => applied.promise
      const waiting = memoryCore(() => ({
        ...core.ports,
        invalidations: { ...core.ports.invalidations, publish },
      }))
      let isRefused = false
      const refusal = assert
        .rejects(
          waiting.authenticateForLogout(secret, waiting.deadline(), aRequester()) as Promise<unknown>,
          InvalidToken,
        )
        .then(() => {
          isRefused = true
        })
      await turn()
      assert.equal(isRefused, false)
      applied.resolve()
      await refusal
    }
  })

  it('revokes the token of a disabled customer, which stays refused once the customer is enabled', async () => {
    const core = memoryCore()
    const customer = await core.customer()
    const { secret } = await core.token(customer)
    const digest = core.ports.secrets.digestOf(secret) ?? assert.fail()
    const stored = core.store.customers.get(customer.id) ?? assert.fail()
    // As another program may do it, without a revocation.
    core.store.customers.set(customer.id, {
      ...stored,
      customer: { ...stored.customer, disabledAtMs: core.clock.nowMs() },
    })
    const logOut = async () => core.authenticateForLogout(secret, core.deadline(), aRequester())
    await assert.rejects(logOut, InvalidToken)
    core.store.customers.set(customer.id, stored)
    await assert.rejects(async () => core.authenticate(secret, core.deadline()), InvalidToken)
    assert.equal(core.store.tokens.get(digest)?.revokedAtMs, core.clock.nowMs())
    assert.ok(core.announced.length > 0)
  })

  it('publishes nothing for a valid token, for malformed text, or when the store is unavailable', async () => {
    const core = memoryCore()
    const { secret } = await core.token(await core.customer())
    const deadline = core.deadline()
    assert.equal((await core.authenticateForLogout(secret, deadline, aRequester())).token.name, 'login')
    await assert.rejects(
      async () => core.authenticateForLogout('lk_x', deadline, aRequester()),
      MalformedToken,
    )
    assert.deepEqual(core.announced, [])

    const { port } = unreachable<LoginTokens>(new Unavailable())
    const away = memoryCore(() => ({ loginTokens: port }))
    await assert.rejects(async () => away.authenticateForLogout(secret, deadline, aRequester()), Unavailable)
    assert.deepEqual(away.announced, [])
  })
})
