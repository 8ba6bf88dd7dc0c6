import NodeCache from 'node-cache'
import type { Cache } from '../../application/ports/cache.ts'

const SWEEP_MS = 1000
/** So many entries are dropped in less than a millisecond; then others have their turn. */
const SLICE = 200

/** A cache that tells how many entries it has. */
export interface CountedCache<Value> extends Cache<Value> {
  size(): number
}

/** A cache of at most `maxEntries`; when it is full the entry that came first makes room. */
export function nodeCache<Value>({
  maxEntries,
  onEvicted = () => {},
}: {
  readonly maxEntries: number
  /** Told of each entry that makes room for another. */
  readonly onEvicted?: (() => void) | undefined
}): CountedCache<Value> {
  // Its own limit throws, and its own sweep stops the loop for as long as it has keys.
  const entries = new NodeCache({ useClones: false, checkperiod: 0 })
  const order = new Set<string>()
  let removed: (key: string, value: Value) => void = () => {}
  let isSweeping = false
  entries.on('del', (key: string, value: Value) => {
    order.delete(key)
    removed(key, value)
  })

  return {
    get: (key) => entries.get<Value>(key),
    set(key, value, ttlMs) {
      entries.del(key)
      // The library counts in seconds, and takes 0 and NaN for ever.
      const ttlSeconds = ttlMs / 1000
      if (!(ttlSeconds > 0)) return
      if (order.size >= maxEntries) {
        entries.del(first(order))
        onEvicted()
      }
      entries.set(key, value, ttlSeconds)
      order.add(key)
      if (!isSweeping) sweepLater()
    },
    delete(key) {
      entries.del(key)
    },
    clear() {
      entries.flushAll()
      order.clear()
    },
    onRemoved(listener) {
      removed = listener
    },
    size: () => order.size,
  }

  /** What nobody asks for any more has to go, too: the oldest first, up to one that is still good. */
  function sweep(): void {
    let gone = 0
    for (const key of order) {
      if (entries.get(key) !== undefined || ++gone === SLICE) break
    }
    if (gone === SLICE) setImmediate(sweep)
    else if (order.size > 0) sweepLater()
    else isSweeping = false
  }

  function sweepLater(): void {
    isSweeping = true
    setTimeout(sweep, SWEEP_MS).unref()
  }
}

function first(keys: Set<string>): string {
  for (const key of keys) return key
  return ''
}
