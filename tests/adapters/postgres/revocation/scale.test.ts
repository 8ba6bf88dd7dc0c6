import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BEAT_MS } from '../../../../src/adapters/postgres/revocation/heartbeats.ts'
import { protocolInstance } from '../../../../src/adapters/postgres/revocation/instance.ts'
import { LEASE_MS } from '../../../../src/adapters/postgres/revocation/lease.ts'
import { OWN_CHANNEL } from '../../../../src/adapters/postgres/revocation/notifications.ts'
import type { Instance } from '../../../../src/adapters/postgres/revocation/protocol.ts'
import { movableClock } from '../../../../src/testing/movable-clock.ts'
import { turn } from '../../../support/fakes.ts'

const INTACT = { fingerprint: 'intact', problems: [] }

/** The messages of a number of instances that share one database. A delivery is a message that one instance receives. */
async function simulate(count: number): Promise<{ readonly second: number; readonly revocation: number }> {
  const clock = movableClock()
  const instances = new Map<string, Instance>()
  let queue: string[] = []
  let deliveries = 0

  for (let n = 1; n <= count; n += 1) {
    const name = `${OWN_CHANNEL}i${n}`
    const send = (payload: string) => queue.push(payload)
    instances.set(name, protocolInstance({ name, clock, send, apply() {}, warn: assert.fail }))
  }
  for (const instance of instances.values()) instance.connected()
  deliver()
  for (let at = 0; at < LEASE_MS; at += BEAT_MS) beat()

  deliveries = 0
  for (let at = 0; at < LEASE_MS; at += BEAT_MS) beat()
  const second = deliveries

  deliveries = 0
  const [asker] = [...instances.values()]
  queue.push('1 digests d1')
  deliver()
  let isSettled = false
  void asker?.settled().then(() => {
    isSettled = true
  })
  deliver()
  await turn()
  assert.ok(isSettled, 'no instance was hung, so no lease had to expire')
  return { second, revocation: deliveries }

  function beat(): void {
    clock.advance(BEAT_MS)
    for (const instance of instances.values()) instance.beat()
    deliver()
  }

  /** As `latchkey_send` does. */
  function deliver(): void {
    while (queue.length > 0) {
      const sent = queue
      queue = []
      for (const payload of sent) {
        const [, kind, sender = '', asker = ''] = payload.split(' ')
        instances.get(sender)?.published(payload, INTACT)
        for (const [name, instance] of instances) {
          if (kind === 'seen' && name !== asker) continue
          deliveries += 1
          instance.received(payload)
          if (kind !== 'beat') continue
          deliveries += 1
          instance.receivedInPublic(`2 beat ${sender}`)
        }
      }
    }
  }
}

describe('The messages of n instances', () => {
  for (const n of [1, 3, 10, 100]) {
    it(`are 3n - 1 deliveries for a revocation, and 8n² a second for heartbeats: n = ${n}`, async () => {
      assert.deepEqual(await simulate(n), { second: 8 * n * n, revocation: 3 * n - 1 })
    })
  }
})
