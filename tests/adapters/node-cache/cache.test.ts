import assert from 'node:assert/strict'
import { afterEach, it, mock } from 'node:test'
import { nodeCache } from '../../../src/adapters/node-cache/cache.ts'
import { cacheContract } from '../../contracts/cache.ts'

afterEach(() => mock.timers.reset())

cacheContract('node-cache', (maxEntries) => {
  mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_000 })
  return { cache: nodeCache({ maxEntries }), advance: (ms) => mock.timers.tick(ms) }
})

it('node-cache starts no timer: a sweep would stop the loop for as long as it has keys', (t) => {
  const timeouts = t.mock.method(globalThis, 'setTimeout')
  const intervals = t.mock.method(globalThis, 'setInterval')
  const cache = nodeCache<object>({ maxEntries: 10 })
  cache.set('a', {}, 60_000)
  cache.clear()
  cache.set('a', {}, 60_000)
  assert.equal(timeouts.mock.callCount() + intervals.mock.callCount(), 0)
})
