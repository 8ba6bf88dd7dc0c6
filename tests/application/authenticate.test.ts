import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { LoginTokens } from '../../src/application/ports/login-tokens.ts'
import { InsufficientScope, InvalidToken, Unavailable } from '../../src/domain/errors.ts'
import type { OwnedToken } from '../../src/domain/login-token.ts'
import { aCustomer, aLoginToken } from '../../src/testing/builders.ts'
import { anUnknownSecret, memoryCore, unreachable } from '../support/core.ts'
import { aRequester } from '../support/idle-ports.ts'

describe('Authentication', () => {
  it('returns the owner of the presented token, with its digest', async () => {
    const core = memoryCore()
    const customer = await core.customer()
    const { secret, token } = await core.token(customer)
    const digest = core.ports.secrets.digestOf(secret)
    assert.deepEqual(await core.authenticate(secret, core.deadline()), {
      token,
      customer,
      digest,
      memo: undefined,
    })
  })

  it('refuses a token from the millisecond of its expiry on', async () => {
    const core = memoryCore()
    const { secret } = await core.token(await core.customer(), { expiresAtMs: core.clock.nowMs() + 300 })
    core.clock.advance(299)
    await core.authenticate(secret, core.deadline())
    for (const ms of [1, 1, 1_000_000]) {
      core.clock.advance(ms)
      await assert.rejects(async () => core.authenticate(secret, core.deadline()), InvalidToken)
    }
  })

  it('compares the expiry with the time after the lookup, not before it', async () => {
    const core = memoryCore(({ loginTokens }) => ({
      loginTokens: {
        ...loginTokens,
        async findByDigest(digest, timeoutMs) {
          core.clock.advance(1)
          return loginTokens.findByDigest(digest, timeoutMs)
        },
      },
    }))
    const { secret } = await core.token(await core.customer(), { expiresAtMs: core.clock.nowMs() + 1 })
    await assert.rejects(async () => core.authenticate(secret, core.deadline()), InvalidToken)
  })

  it('gives the same refusal for revoked and unknown tokens and those of disabled or deleted customers', async () => {
    const core = memoryCore()
    const revoked = await core.token(await core.customer(), { revokedAtMs: 1 })
    const disabled = await core.customer()
    const { secret: ofDisabled } = await core.token(disabled)
    await core.ports.customers.disable(disabled.id, 1, 1000)
    const deleted = await core.customer()
    const { secret: ofDeleted } = await core.token(deleted)
    await core.ports.customers.delete(deleted.id, 1000)
    const messages = new Set<string>()
    for (const presented of [revoked.secret, ofDisabled, ofDeleted, anUnknownSecret(), 'nonsense', '']) {
      await assert.rejects(
        async () => core.authenticate(presented, core.deadline()),
        (error: Error) => {
          assert.ok(error instanceof InvalidToken)
          messages.add(error.message)
          return true
        },
      )
    }
    assert.equal(messages.size, 1)
  })

  it('refuses an active token of a disabled customer', async () => {
    const owned = { token: aLoginToken({ customerId: 'x' }), customer: aCustomer({ disabledAtMs: 1 }) }
    const core = memoryCore(({ loginTokens }) => ({
      loginTokens: { ...loginTokens, findByDigest: async () => owned },
    }))
    await assert.rejects(async () => core.authenticate(anUnknownSecret(), core.deadline()), InvalidToken)
  })

  it('refuses a malformed token without a store call', async () => {
    const { port, calls } = unreachable<LoginTokens>(new Unavailable())
    const core = memoryCore(() => ({ loginTokens: port }))
    const good = anUnknownSecret()
    for (const presented of ['', 'lk_', `${good}x`, good.slice(0, -1), good.toUpperCase(), `"${good}"`]) {
      await assert.rejects(async () => core.authenticate(presented, core.deadline()), InvalidToken)
    }
    assert.deepEqual(calls, [])
  })

  it('is unavailable, not refused, when the store is unavailable', async () => {
    const { port, calls } = unreachable<LoginTokens>(new Unavailable())
    const core = memoryCore(() => ({ loginTokens: port }))
    await assert.rejects(async () => core.authenticate(anUnknownSecret(), core.deadline()), Unavailable)
    assert.deepEqual(calls, ['findByDigest'])
  })
})

describe('Authorisation', () => {
  const core = memoryCore()
  const authorize = (owned: OwnedToken, required: readonly string[]) =>
    core.authorize(owned, required, aRequester())
  const caller = (abilities: readonly string[]) => ({
    token: aLoginToken({ customerId: 'x', abilities }),
    customer: aCustomer(),
  })

  it('passes if every required ability is covered', () => {
    authorize(caller(['*']), ['orders:read', 'orders:write'])
    authorize(caller(['orders:*']), ['orders:read', 'orders:write'])
    authorize(caller([]), [])
  })

  it('refuses if one is not covered and names all required abilities', () => {
    for (const abilities of [[], ['orders:read'], ['Orders:*'], ['orders']]) {
      assert.throws(
        () => authorize(caller(abilities), ['orders:read', 'orders:write']),
        (error: unknown) => {
          assert.ok(error instanceof InsufficientScope)
          assert.deepEqual(error.required, ['orders:read', 'orders:write'])
          return true
        },
      )
    }
  })
})
