import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidToken, Unavailable } from '../../src/domain/errors.ts'
import { anUnknownSecret, memoryCore, unreachable } from '../support/core.ts'

const PURPOSE = 'email-change'
const TTL_MS = 3_600_000
const WHO = { requestId: 'r1', address: '192.0.2.7' }

async function start() {
  const core = memoryCore()
  const customer = await core.customer()
  const issue = (purpose = PURPOSE) =>
    core.oneTimeTokens.issue({ customerId: customer.id, purpose, ttlMs: TTL_MS }, core.deadline(), WHO)
  const use = (secret: string, purpose = PURPOSE) =>
    core.oneTimeTokens.use({ secret, purpose }, core.deadline(), WHO)
  const find = (secret: string, purpose = PURPOSE) =>
    core.oneTimeTokens.find({ secret, purpose }, core.deadline(), WHO)
  return { core, customer, issue, use, find }
}

describe('A one-time token', () => {
  it('is shown once and stored as a digest, and its issue and use are recorded', async () => {
    const { core, customer, issue, use, find } = await start()
    const issued = await issue()
    assert.ok(issued)
    assert.equal(issued.expiresAtMs, core.clock.nowMs() + TTL_MS)
    assert.ok(!JSON.stringify([...core.store.oneTimeTokens.values()]).includes(issued.secret))
    assert.deepEqual(await find(issued.secret), customer)
    assert.deepEqual(await use(issued.secret), customer)
    const of = { ...WHO, customerId: customer.id, purpose: PURPOSE }
    assert.deepEqual(core.recorded, [
      { ...of, event: 'one_time_token.issued' },
      { ...of, event: 'one_time_token.used' },
    ])
  })

  it('is refused when it was used, has expired, is unknown or has another purpose, each of which is recorded', async () => {
    const { core, issue, use, find } = await start()
    const [used, expired] = [await issue(), await issue('sign-up')]
    await use(used?.secret ?? '')
    core.recorded.length = 0
    assert.equal(await use(expired?.secret ?? ''), null)
    core.clock.advance(TTL_MS)
    assert.equal(await use(used?.secret ?? ''), null)
    assert.equal(await find(expired?.secret ?? '', 'sign-up'), null)
    assert.equal(await use(anUnknownSecret()), null)
    assert.deepEqual(core.recorded, Array(4).fill({ ...WHO, event: 'token.denied', reason: 'one_time' }))
  })

  it('authenticates no request', async () => {
    const { core, issue } = await start()
    const issued = await issue()
    await assert.rejects(async () => core.authenticate(issued?.secret ?? '', core.deadline()), InvalidToken)
  })

  it('that cannot be one costs no lookup', async () => {
    const { port, calls } = unreachable<ReturnType<typeof memoryCore>['ports']['oneTimeTokens']>(
      new Unavailable(),
    )
    const { oneTimeTokens, deadline } = memoryCore(() => ({ oneTimeTokens: port }))
    assert.equal(await oneTimeTokens.use({ secret: 'x', purpose: PURPOSE }, deadline()), null)
    assert.deepEqual(calls, [])
    const use = oneTimeTokens.use({ secret: anUnknownSecret(), purpose: PURPOSE }, deadline())
    await assert.rejects(use, Unavailable)
  })

  it('is not created for a customer who is disabled or deleted', async () => {
    const { core, customer, issue } = await start()
    await core.customers.disable(customer.id, core.deadline())
    core.recorded.length = 0
    assert.equal(await issue(), null)
    assert.deepEqual(core.recorded, [])
  })

  it('may be created by a job, without a request', async () => {
    const { core, customer } = await start()
    const token = { customerId: customer.id, purpose: PURPOSE, ttlMs: TTL_MS }
    assert.ok(await core.oneTimeTokens.issue(token, core.deadline()))
    assert.deepEqual(core.recorded, [
      { event: 'one_time_token.issued', customerId: customer.id, purpose: PURPOSE },
    ])
  })
})
