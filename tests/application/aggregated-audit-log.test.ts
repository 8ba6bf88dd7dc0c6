import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { aggregatedAuditLog } from '../../src/application/aggregated-audit-log.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { recordingAuditLog } from '../../src/testing/recorded.ts'

function createAudit() {
  const clock = movableClock()
  const { recorded, ...inner } = recordingAuditLog()
  const audit = aggregatedAuditLog(inner, clock)
  const repeat = (count: number, record: (requestId: string) => void) => {
    for (let i = 0; i < count; i++) record(`r${i}`)
  }
  return { audit, clock, recorded, repeat }
}
const address = '192.0.2.7'

describe('The aggregation of denials in the audit log', () => {
  it('records ten of an address and an event in a second with all fields, and the number of the others', () => {
    const { audit, clock, recorded, repeat } = createAudit()
    repeat(25, (requestId) => audit.record('token.denied', { requestId, address, reason: 'unknown' }))
    repeat(12, (requestId) => audit.record('service.denied', { requestId, address, reason: 'missing' }))
    repeat(11, (requestId) => audit.record('login.failed', { requestId, address, reason: 'password' }))
    repeat(13, (requestId) => audit.record('login.throttled', { requestId, address, reason: 'account' }))
    assert.equal(recorded.length, 40)
    assert.deepEqual(recorded[9], { event: 'token.denied', requestId: 'r9', address, reason: 'unknown' })
    clock.advance(1000)
    assert.deepEqual(recorded.slice(40), [
      { event: 'denials.left_out', address, deniedEvent: 'token.denied', count: 15 },
      { event: 'denials.left_out', address, deniedEvent: 'service.denied', count: 2 },
      { event: 'denials.left_out', address, deniedEvent: 'login.failed', count: 1 },
      { event: 'denials.left_out', address, deniedEvent: 'login.throttled', count: 3 },
    ])
  })

  it('names no address for denials of many addresses', () => {
    const { audit, recorded, repeat } = createAudit()
    repeat(1500, (requestId) => audit.record('token.denied', { address: requestId, reason: 'unknown' }))
    audit.close()
    assert.deepEqual(recorded.at(-1), { event: 'denials.left_out', deniedEvent: 'token.denied', count: 500 })
  })

  it('records every other event, and every event of a command', () => {
    const { audit, recorded, repeat } = createAudit()
    repeat(50, (requestId) => audit.record('login.succeeded', { requestId, address, tokenId: 't1' }))
    repeat(50, (requestId) => audit.record('token.revoked', { requestId, address, reason: 'logout' }))
    repeat(50, () => audit.record('service.denied', { reason: 'missing' }))
    audit.close()
    assert.equal(recorded.length, 150)
  })
})
