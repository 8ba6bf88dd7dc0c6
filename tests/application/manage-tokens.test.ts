import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { invalidatingLoginTokens } from '../../src/application/login-tokens/invalidating.ts'
import { RevocationIncomplete } from '../../src/application/management/revoke-all-issued-before.ts'
import { requesterFields } from '../../src/application/requester.ts'
import { STORE_TIMEOUT_MS } from '../../src/application/use-cases/use-cases.ts'
import { Unavailable, ValidationFailed } from '../../src/domain/errors.ts'
import { memoryCore } from '../support/core.ts'
import { deferred, turn } from '../support/fakes.ts'
import { aRequester } from '../support/idle-ports.ts'

type Recorded = readonly [event: string, fields: object]

function core(replaced: Parameters<typeof memoryCore>[0] = () => ({})) {
  const recorded: Recorded[] = []
  const created = memoryCore((ports) => ({
    audit: { record: (event, fields) => void recorded.push([event, fields]) },
    loginTokens: invalidatingLoginTokens(ports.loginTokens, ports.invalidations),
    ...replaced(ports),
  }))
  return { ...created, recorded }
}

describe('A named token', () => {
  it('is created with its abilities and expiry, and authenticates by its secret', async () => {
    const { tokens, customer, clock, authenticate, deadline, recorded } = core()
    const { id: customerId } = await customer()
    const expiresAtMs = clock.nowMs() + 1
    const abilities = ['orders:read', 'orders:write', 'orders:read']
    const created = await tokens.create({ customerId, name: 'bot', abilities, expiresAtMs }, deadline())
    assert.ok(created)
    const caller = await authenticate(created.secret, deadline())
    assert.deepEqual(caller.token, created.token)
    assert.deepEqual(created.token, {
      id: created.token.id,
      customerId,
      name: 'bot',
      abilities: ['orders:read', 'orders:write'],
      createdAtMs: clock.nowMs(),
      expiresAtMs,
      revokedAtMs: null,
      lastUsedAtMs: null,
      device: null,
    })
    const fields = {
      customerId,
      tokenId: created.token.id,
      tokenName: 'bot',
      abilities: created.token.abilities,
    }
    assert.deepEqual(recorded, [['token.issued', fields]])
  })

  it('is refused for an invalid name, ability or expiry, and nothing is stored', async () => {
    const { tokens, customer, clock, store, deadline, recorded } = core()
    const { id: customerId } = await customer()
    const good = { customerId, name: 'bot', abilities: [], expiresAtMs: null }
    for (const [wrong, field] of [
      [{ name: '' }, 'name'],
      [{ name: 'login' }, 'name'],
      [{ name: 'x'.repeat(101) }, 'name'],
      [{ name: 'a\nb' }, 'name'],
      [{ name: 'a\ud800' }, 'name'],
      [{ abilities: ['orders:read', ''] }, 'abilities'],
      [{ abilities: ['orders read'] }, 'abilities'],
      [{ abilities: ['*:read'] }, 'abilities'],
      [{ expiresAtMs: clock.nowMs() }, 'expires'],
      [{ expiresAtMs: 0 }, 'expires'],
    ] as const)
      await assert.rejects(
        tokens.create({ ...good, ...wrong }, deadline()),
        (error: Error) => error instanceof ValidationFailed && Object.keys(error.errors).join() === field,
      )
    assert.equal(store.tokens.size, 0)
    assert.deepEqual(recorded, [])
    for (const name of ['🦊'.repeat(100), 'Login', 'a'])
      assert.ok(await tokens.create({ ...good, name }, deadline()))
  })

  it('is not created for a disabled or unknown customer', async () => {
    const { tokens, customers, customer, deadline, recorded } = core()
    const { id } = await customer()
    await customers.disable(id, deadline())
    recorded.splice(0)
    for (const customerId of [id, 'unknown'])
      assert.equal(
        await tokens.create({ customerId, name: 'bot', abilities: [], expiresAtMs: null }, deadline()),
        null,
      )
    assert.deepEqual(recorded, [])
  })
})

describe('Revoking tokens', () => {
  it('by name, by id or all of a customer is published, counted and recorded', async () => {
    const { tokens, customer, token, announced, deadline, recorded } = core()
    const owner = await customer()
    for (const name of ['bot', 'bot', 'importer', 'login']) await token(owner, { name })
    const { id } = (await token(owner, { name: 'one' })).token
    const requester = aRequester()
    assert.equal(await tokens.revoke(owner.id, { name: 'bot' }, deadline()), 2)
    assert.deepEqual(announced, [{ kind: 'customer', customerId: owner.id }])
    const operator = { requester, service: 'desk' }
    assert.equal(await tokens.revoke(owner.id, { id }, deadline(), operator), 1)
    assert.equal(await tokens.revoke(owner.id, { id }, deadline(), operator), 0)
    assert.equal(await tokens.revoke(owner.id, {}, deadline()), 2)
    const left = await tokens.listByCustomer(owner.id, deadline())
    assert.ok(left.every(({ revokedAtMs }) => revokedAtMs !== null))
    const of = { customerId: owner.id, reason: 'operator', count: 2 }
    assert.deepEqual(recorded, [
      ['token.revoked', { ...of, tokenName: 'bot' }],
      ['token.revoked', { ...of, ...requesterFields(requester), service: 'desk', tokenId: id, count: 1 }],
      ['token.revoked', of],
    ])
  })

  it('by age covers all customers and refuses a time in the future', async () => {
    const { tokens, customer, token, clock, announced, deadline, recorded } = core()
    const owners = [await customer(), await customer()]
    for (const owner of owners) {
      await token(owner, { name: 'old', createdAtMs: clock.nowMs() - 1 })
      await token(owner, { name: 'new' })
    }
    await assert.rejects(tokens.revokeIssuedBefore(clock.nowMs() + 1, deadline, null), ValidationFailed)
    assert.deepEqual(announced, [])
    const beforeMs = clock.nowMs()
    clock.advance(2000)
    assert.equal(await tokens.revokeIssuedBefore(beforeMs, deadline, null), 2)
    assert.deepEqual(announced, [{ kind: 'everything' }])
    const { tokens: all } = await tokens.list({ after: null, limit: 9 }, deadline())
    for (const { token: of } of all) assert.equal(of.revokedAtMs === null, of.name === 'new')
    assert.deepEqual(recorded, [['token.revoked', { reason: 'issued_before', count: 2 }]])
  })

  it('by age up to now includes logins that had begun but were not stored yet', async () => {
    const { tokens, customer, token, clock, deadline, recorded } = core()
    const owner = await customer()
    await token(owner, { name: 'old', createdAtMs: clock.nowMs() - 1 })
    const revoking = tokens.revokeIssuedBefore(clock.nowMs(), deadline, null)
    await turn()
    await token(owner, { name: 'late', createdAtMs: clock.nowMs() - 1 })
    clock.advance(1999)
    await token(owner, { name: 'new' })
    clock.advance(1)
    assert.equal(await revoking, 2)
    assert.deepEqual(recorded, [['token.revoked', { reason: 'issued_before', count: 2 }]])
  })

  it('by age records the partial result of a failure', async () => {
    let fails = false
    const { tokens, customer, token, clock, deadline, recorded } = core(({ loginTokens }) => ({
      loginTokens: {
        ...loginTokens,
        revokeIssuedBefore: async (...args) => {
          if (fails) throw new Unavailable()
          return loginTokens.revokeIssuedBefore(...args)
        },
      },
    }))
    await token(await customer(), { name: 'old', createdAtMs: clock.nowMs() - 1 })
    const revoking = tokens.revokeIssuedBefore(clock.nowMs(), deadline, null)
    await turn()
    fails = true
    clock.advance(2000)
    await assert.rejects(
      revoking,
      (error) =>
        error instanceof RevocationIncomplete && error.revoked === 1 && error.cause instanceof Unavailable,
    )
    assert.deepEqual(recorded, [['token.revoked', { reason: 'issued_before', count: 1 }]])
  })

  it('by age gives each pass its own full deadline', async () => {
    const deadlines: number[] = []
    const { tokens, clock, deadline } = core(({ loginTokens }) => ({
      loginTokens: {
        ...loginTokens,
        async revokeIssuedBefore(_beforeMs, _atMs, { timeoutMs }) {
          deadlines.push(timeoutMs)
          clock.advance(3_600_000)
          return 0
        },
      },
    }))
    const revoking = tokens.revokeIssuedBefore(clock.nowMs(), deadline, null)
    await turn()
    clock.advance(2000)
    assert.equal(await revoking, 0)
    assert.deepEqual(deadlines, [STORE_TIMEOUT_MS, STORE_TIMEOUT_MS])
  })

  it('by age records the partial result of an interruption, even between passes', async () => {
    for (const isBetweenPasses of [false, true]) {
      const interruption = new AbortController()
      const { tokens, customer, token, clock, deadline, recorded } = core(({ loginTokens }) => ({
        loginTokens: {
          ...loginTokens,
          async revokeIssuedBefore(beforeMs, atMs, steps) {
            const revoked = await loginTokens.revokeIssuedBefore(beforeMs, atMs, steps)
            if (isBetweenPasses) return revoked
            interruption.abort(new Error('interrupted'))
            throw interruption.signal.reason
          },
        },
      }))
      await token(await customer(), { name: 'old', createdAtMs: clock.nowMs() - 1 })
      const revoking = assert.rejects(
        tokens.revokeIssuedBefore(clock.nowMs(), deadline, interruption.signal),
        (error) =>
          error instanceof RevocationIncomplete &&
          error.revoked === 1 &&
          error.cause === interruption.signal.reason,
      )
      await turn()
      interruption.abort(new Error('interrupted'))
      await revoking
      assert.deepEqual(recorded, [['token.revoked', { reason: 'issued_before', count: 1 }]])
    }
  })
})

describe('Pruning tokens', () => {
  it('continues until nothing is left and gives each step its own deadline', async () => {
    const limits: number[] = []
    let left = 2500
    const { tokens, deadline, clock } = core(({ loginTokens }) => ({
      loginTokens: {
        ...loginTokens,
        async prune(endedBeforeMs, limit) {
          assert.equal(endedBeforeMs, beganMs - 5000)
          limits.push(limit)
          clock.advance(900)
          const removed = Math.min(left, limit)
          left -= removed
          return removed
        },
      },
    }))
    const beganMs = clock.nowMs()
    assert.equal(await tokens.prune(5000, deadline), 2500)
    assert.deepEqual(limits, [1000, 1000, 1000])
  })

  it('waits while another instance prunes', async () => {
    const called = [deferred<void>(), deferred<void>()]
    let calls = 0
    const { tokens, deadline, clock } = core(({ loginTokens }) => ({
      loginTokens: {
        ...loginTokens,
        async prune() {
          called[calls]?.resolve()
          return calls++ === 0 ? null : 7
        },
      },
    }))
    const pruning = tokens.prune(0, deadline)
    await called[0]?.promise
    await turn()
    assert.equal(calls, 1)
    clock.advance(100)
    assert.equal(await pruning, 7)
  })
})
