import { cacheContract } from '../../src/testing/contracts/cache.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { mapCache } from './fakes.ts'

cacheContract('the cache on a map that other tests use', (maxEntries) => {
  const clock = movableClock()
  return { cache: mapCache(clock, maxEntries), advance: clock.advance }
})
