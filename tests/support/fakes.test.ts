import { cacheContract } from '../contracts/cache.ts'
import { mapCache, movableClock } from './fakes.ts'

cacheContract('the cache on a map that other tests use', (maxEntries) => {
  const clock = movableClock()
  return { cache: mapCache(clock, maxEntries), advance: clock.advance }
})
