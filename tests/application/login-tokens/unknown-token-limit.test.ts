import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { UnknownTokenLimit } from '../../../src/application/login-tokens/unknown-token-limit.ts'
import { InvalidToken, TooManyUnknownTokens, Unavailable } from '../../../src/domain/errors.ts'
import { movableClock } from '../../../src/testing/movable-clock.ts'
import { anUnknownSecret, type Core, memoryCore } from '../../support/core.ts'
import { aRequester } from '../../support/idle-ports.ts'

const elsewhere = aRequester({ address: '192.0.2.1' })

/** Presents a token; returns the error, or null when it was accepted. */
async function present(core: Core, secret: string, requester = aRequester()): Promise<Error | null> {
  try {
    await core.authenticate(secret, core.deadline(), requester)
    return null
  } catch (error) {
    return error as Error
  }
}

/** Presents `secret`, or a new unknown token each time, and returns the error classes seen; null for an accepted token. */
async function presentMany(core: Core, times: number, secret?: string): Promise<Set<unknown>> {
  const seen = new Set<unknown>()
  for (let i = 0; i < times; i++)
    seen.add((await present(core, secret ?? anUnknownSecret()))?.constructor ?? null)
  return seen
}

/** A core that counts its store lookups and can make them fail. */
function createCountedCore() {
  const state = { lookups: 0, isFailing: false }
  const core = memoryCore(({ loginTokens }) => ({
    loginTokens: {
      ...loginTokens,
      findByDigest(digest, timeoutMs) {
        state.lookups += 1
        return state.isFailing
          ? Promise.reject(new Unavailable())
          : loginTokens.findByDigest(digest, timeoutMs)
      },
    },
  }))
  return { core, state }
}

describe('The unknown token limit', () => {
  it('allows 100 lookups per address, then refuses without a lookup', async () => {
    const { core, state } = createCountedCore()
    assert.deepEqual(await presentMany(core, 100), new Set([InvalidToken]))
    assert.equal(state.lookups, 100)
    assert.deepEqual(await presentMany(core, 50), new Set([TooManyUnknownTokens]))
    assert.equal(state.lookups, 100)
  })

  it('reports when to retry and refills 20 lookups a second', async () => {
    const { core } = createCountedCore()
    await presentMany(core, 100)
    const refused = await present(core, anUnknownSecret())
    assert.ok(refused instanceof TooManyUnknownTokens)
    assert.deepEqual(refused.limit, { name: 'tokens', failures: 100, windowMs: 5000, retryAfterMs: 50 })
    core.clock.advance(1000)
    assert.deepEqual(await presentMany(core, 20), new Set([InvalidToken]))
    assert.deepEqual(await presentMany(core, 1), new Set([TooManyUnknownTokens]))
    core.clock.advance(3_600_000)
    assert.deepEqual(await presentMany(core, 100), new Set([InvalidToken]))
    assert.deepEqual(await presentMany(core, 1), new Set([TooManyUnknownTokens]))
  })

  it('charges revoked tokens, expired tokens and tokens of disabled customers', async () => {
    for (const end of ['revoked', 'expired', 'disabled'] as const) {
      const { core, state } = createCountedCore()
      const customer = await core.customer()
      const expiresAtMs = core.clock.nowMs() + 1000
      const { secret } = await core.token(customer, end === 'expired' ? { expiresAtMs } : {})
      // The token is known until a lookup rejects it.
      assert.equal(await present(core, secret), null)
      if (end === 'disabled') await core.ports.customers.disable(customer.id, 1, 1000)
      if (end === 'revoked') await core.tokens.revoke(customer.id, {}, core.deadline())
      if (end === 'expired') core.clock.advance(1000)
      state.lookups = 0
      await presentMany(core, 300, secret)
      assert.equal(state.lookups, 100, end)
    }
  })

  it('limits each address separately', async () => {
    const { core } = createCountedCore()
    await presentMany(core, 101)
    assert.ok((await present(core, anUnknownSecret(), elsewhere)) instanceof InvalidToken)
  })

  it('always looks up tokens that this instance validated or issued', async () => {
    const { core } = createCountedCore()
    const validated = await core.token(await core.customer())
    assert.equal(await present(core, validated.secret, elsewhere), null)
    const { email, id } = await core.customer({}, 'right')
    await presentMany(core, 200)
    const login = await core.login({ email, password: 'right' }, core.deadline())
    const created = await core.tokens.create(
      { customerId: id, name: 'bot', abilities: ['*'], expiresAtMs: null },
      core.deadline(),
    )
    for (let i = 0; i < 300; i++) {
      for (const secret of [validated.secret, login.secret, created?.secret ?? '']) {
        assert.equal(await present(core, secret), null)
      }
      assert.ok((await present(core, anUnknownSecret())) instanceof TooManyUnknownTokens)
    }
  })

  it('remembers a token for a day', async () => {
    const { core } = createCountedCore()
    const customer = await core.customer()
    const { secret } = await core.token(customer, { expiresAtMs: null })
    assert.equal(await present(core, secret), null)
    core.clock.advance(23 * 3_600_000)
    await presentMany(core, 200)
    assert.equal(await present(core, secret), null)
    core.clock.advance(25 * 3_600_000)
    await presentMany(core, 200)
    assert.ok((await present(core, secret)) instanceof TooManyUnknownTokens)
  })

  it('does not charge valid tokens or failed lookups', async () => {
    const { core, state } = createCountedCore()
    const customer = await core.customer()
    await presentMany(core, 99)
    for (let i = 0; i < 50; i++) assert.equal(await present(core, (await core.token(customer)).secret), null)
    state.isFailing = true
    assert.deepEqual(await presentMany(core, 200), new Set([Unavailable]))
    state.isFailing = false
    assert.deepEqual(await presentMany(core, 1), new Set([InvalidToken]))
    assert.deepEqual(await presentMany(core, 1), new Set([TooManyUnknownTokens]))
  })

  it('lets lookups in flight exceed the limit, at a cost of at most 5 s', async () => {
    const { core, state } = createCountedCore()
    const errors = await Promise.all(Array.from({ length: 1000 }, () => present(core, anUnknownSecret())))
    assert.ok(errors.every((error) => error instanceof InvalidToken))
    assert.equal(state.lookups, 1000)
    core.clock.advance(4900)
    assert.ok((await present(core, anUnknownSecret())) instanceof TooManyUnknownTokens)
    core.clock.advance(200)
    assert.ok((await present(core, anUnknownSecret())) instanceof InvalidToken)
  })

  it('forgets the oldest address above 10,000', async () => {
    const { core } = createCountedCore()
    await presentMany(core, 101)
    for (let i = 0; i < 10_000; i++) await present(core, anUnknownSecret(), aRequester({ address: `a${i}` }))
    assert.ok((await present(core, anUnknownSecret())) instanceof InvalidToken)
  })

  it('forgets the oldest known token above 100,000', () => {
    const limit = new UnknownTokenLimit(movableClock())
    const requester = aRequester()
    for (let i = 0; i < 100; i++) limit.charge(`unknown ${i}`, requester, null)
    for (let i = 0; i <= 100_000; i++) limit.remember(`known ${i}`)
    assert.equal(limit.reserve('known 1', requester), null)
    assert.throws(() => limit.reserve('known 0', requester), TooManyUnknownTokens)
  })

  it('does not charge malformed tokens', async () => {
    const { core } = createCountedCore()
    await presentMany(core, 500, 'nonsense')
    assert.ok((await present(core, anUnknownSecret())) instanceof InvalidToken)
  })
})
