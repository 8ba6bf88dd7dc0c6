import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { idleSessions } from '../../src/application/jobs/idle-sessions.ts'
import { memoryCore } from '../support/core.ts'

const IDLE_TTL_MS = 600_000
/** Of the rejection, and of the last use that another process may still have to write. */
const GRACE_MS = 60_000
const MARGIN_MS = 120_000

function start() {
  const core = memoryCore()
  const job = idleSessions({ ...core.ports, idleTtlMs: IDLE_TTL_MS })
  const live = async (customerId: string) =>
    (await core.ports.loginTokens.listByCustomer(customerId, 1000)).filter(
      ({ revokedAtMs }) => revokedAtMs === null,
    )
  return { core, job, live, prune: (limit = 10) => job.prune(limit, 1000) }
}

describe('The pruning of idle sessions', () => {
  it('revokes a session only when no process can have an unwritten use of it, and keeps named tokens', async () => {
    const { core, prune, live } = start()
    const customer = await core.customer()
    await core.token(customer)
    await core.token(customer, { name: 'bot' })
    core.clock.advance(IDLE_TTL_MS + GRACE_MS + MARGIN_MS)
    assert.equal(await prune(), 0)
    assert.equal((await live(customer.id)).length, 2)
    assert.deepEqual(core.recorded, [])
    core.clock.advance(1)
    assert.equal(await prune(), 0)
    assert.deepEqual(
      (await live(customer.id)).map(({ name }) => name),
      ['bot'],
    )
    assert.deepEqual(core.recorded, [{ event: 'token.revoked', reason: 'idle', count: 1 }])
  })

  it('keeps a session that was used', async () => {
    const { core, prune, live } = start()
    const customer = await core.customer()
    const { token } = await core.token(customer)
    core.clock.advance(IDLE_TTL_MS)
    await core.ports.loginTokens.touch([{ id: token.id, atMs: core.clock.nowMs() }], 1000)
    core.clock.advance(IDLE_TTL_MS + GRACE_MS)
    await prune()
    assert.equal((await live(customer.id)).length, 1)
  })

  it('continues each step where the one before ended, and begins again after the last', async () => {
    const { core } = start()
    const cursors: unknown[] = []
    const ends = ['a', 'b', null, null]
    const job = idleSessions({
      ...core.ports,
      idleTtlMs: IDLE_TTL_MS,
      loginTokens: {
        ...core.ports.loginTokens,
        async revokeIdle({ after, limit }) {
          cursors.push([after, limit])
          return { revoked: 0, end: ends[cursors.length - 1] ?? null }
        },
      },
    })
    const removed: unknown[] = []
    for (const _ of ends) removed.push(await job.prune(5, 1000))
    // A full step lets the round go on, even if it revoked none.
    assert.deepEqual(removed, [5, 5, 0, 0])
    assert.deepEqual(cursors, [
      [null, 5],
      ['a', 5],
      ['b', 5],
      [null, 5],
    ])
  })
})
