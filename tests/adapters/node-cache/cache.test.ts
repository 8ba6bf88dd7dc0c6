import assert from 'node:assert/strict'
import { afterEach, it, mock } from 'node:test'
import { nodeCache } from '../../../src/adapters/node-cache/cache.ts'
import { cacheContract } from '../../contracts/cache.ts'

afterEach(() => mock.timers.reset())

cacheContract('node-cache', (maxEntries) => {
  mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_000 })
  return { cache: nodeCache({ maxEntries }), advance: (ms) => mock.timers.tick(ms) }
})

it('node-cache holds no timer that would keep the process or sweep its keys', () => {
  const cache = nodeCache<object>({ maxEntries: 10 })
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  cache.set('a', {}, 60_000)
  cache.clear()
  cache.set('a', {}, 60_000)
  assert.equal(timers(), before)
})
