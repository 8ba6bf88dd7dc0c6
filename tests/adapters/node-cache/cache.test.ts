import assert from 'node:assert/strict'
import { afterEach, it, mock } from 'node:test'
import { nodeCache } from '../../../src/adapters/node-cache/cache.ts'
import { cacheContract } from '../../../src/testing/contracts/cache.ts'

afterEach(() => mock.timers.reset())

cacheContract('node-cache', (maxEntries) => {
  let nowMs = 0
  return {
    cache: nodeCache({ maxEntries, monotonicMs: () => nowMs }),
    advance(ms) {
      nowMs += ms
    },
  }
})

it('node-cache removes expired entries in batches without being accessed, and then stops its timer', async () => {
  mock.timers.enable({ apis: ['Date', 'setTimeout'], now: 1_700_000_000_000 })
  const cache = nodeCache<object>({ maxEntries: 10_000, monotonicMs: () => Date.now() })
  let removed = 0
  cache.onRemoved(() => {
    removed += 1
  })
  for (let i = 0; i < 1000; i += 1) cache.set(`short ${i}`, {}, 5000)
  cache.set('long', {}, 20_000)
  mock.timers.tick(4000)
  assert.equal(removed, 0)
  mock.timers.tick(2000)
  assert.ok(removed > 0 && removed < 500, `${removed} were dropped in one turn`)
  await turns()
  assert.equal(removed, 1000)
  assert.notEqual(cache.get('long'), undefined)
  mock.timers.tick(20_000)
  assert.equal(removed, 1001)
  await turns()

  const timeouts = mock.method(globalThis, 'setTimeout')
  mock.timers.tick(60_000)
  assert.equal(timeouts.mock.callCount(), 0, 'an empty cache needs no timer')
  timeouts.mock.restore()
})

it('entries expire in time when the wall clock is set back', () => {
  mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_000 })
  let nowMs = 0
  const cache = nodeCache<object>({ maxEntries: 10, monotonicMs: () => nowMs })
  cache.set('a', {}, 1000)
  mock.timers.setTime(1_600_000_000_000)
  nowMs = 1001
  assert.equal(cache.get('a'), undefined)
  assert.equal(cache.size(), 0)
})

it('node-cache does not keep the process alive', () => {
  const before = process.getActiveResourcesInfo().length
  nodeCache<object>({ maxEntries: 10 }).set('a', {}, 60_000)
  assert.equal(process.getActiveResourcesInfo().length, before)
})

/** Lets the batches of a sweep end. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
