import NodeCache from 'node-cache'
import type { Cache } from '../../application/ports/cache.ts'

const SWEEP_MS = 1000
/** The number of entries that one slice of a sweep removes, in less than a millisecond; then it yields to other work. */
const SLICE_SIZE = 200

/** A cache that reports its size. */
export interface CountedCache<Value> extends Cache<Value> {
  /** Returns the number of entries. */
  size(): number
}

interface Entry<Value> {
  readonly value: Value
  readonly expiresAtMs: number
}

/**
 * Creates a cache of at most `maxEntries`. A full cache evicts the oldest entry. Entries expire by the monotonic clock, so
 * that none outlives its time when the wall clock is set back.
 */
export function nodeCache<Value>({
  maxEntries,
  monotonicMs = () => performance.now(),
  onEvicted = () => {},
}: {
  readonly maxEntries: number
  /** Returns the monotonic time in milliseconds. Default: that of this process. */
  readonly monotonicMs?: () => number
  /** Called for each evicted entry. */
  readonly onEvicted?: (() => void) | undefined
}): CountedCache<Value> {
  // The library's limit throws, and its sweep blocks the event loop until it has visited every key.
  const entries = new NodeCache({ useClones: false, checkperiod: 0 })
  const order = new Set<string>()
  let removed: (key: string, value: Value) => void = () => {}
  let isSweeping = false
  entries.on('del', (key: string, entry: Entry<Value>) => {
    order.delete(key)
    removed(key, entry.value)
  })

  return {
    get,
    set(key, value, ttlMs) {
      entries.del(key)
      if (!(ttlMs > 0)) return
      if (order.size >= maxEntries) {
        entries.del(first(order))
        onEvicted()
      }
      // Without a TTL of the library, which uses the wall clock.
      // A whole number needs no object of its own.
      entries.set(key, { value, expiresAtMs: Math.floor(monotonicMs() + ttlMs) })
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

  function get(key: string): Value | undefined {
    const entry = entries.get<Entry<Value>>(key)
    if (entry === undefined) return undefined
    if (monotonicMs() < entry.expiresAtMs) return entry.value
    entries.del(key)
    return undefined
  }

  /** Removes expired entries that are never read, oldest first, up to the first valid one. */
  function sweep(): void {
    let gone = 0
    for (const key of order) {
      if (get(key) !== undefined || ++gone === SLICE_SIZE) break
    }
    if (gone === SLICE_SIZE) setImmediate(sweep)
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
