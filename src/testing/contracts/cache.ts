import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Cache } from '../../application/ports/cache.ts'

/** A cache of at most `maxEntries`, with the way to let time pass for it. */
export interface TimedCache {
  readonly cache: Cache<object>
  advance(ms: number): void
}

/**
 * What every adapter of `Cache` does: lives that end at their millisecond, however short or odd, the oldest entry
 * making room in a full one, and who is told of what leaves. `create` gives an empty cache of at most `maxEntries`,
 * and the way to let time pass for it; it is called for each sentence. Nothing runs at once here, since the port
 * answers at once. Takes a tenth of a second.
 */
export function cacheContract(name: string, create: (maxEntries: number) => TimedCache): void {
  describe(`${name} keeps the contract of Cache:`, () => {
    sentence('nothing is there before it was set', ({ cache }) => {
      for (const key of ['a', '', 'd9c73349']) {
        assert.equal(cache.get(key), undefined)
        cache.delete(key)
      }
    })

    sentence('the value itself comes back, not a copy', ({ cache }) => {
      class Holder {
        #secret = 7
        readonly abilities = new Set(['*'])
        secret(): number {
          return this.#secret
        }
      }
      const value = Object.freeze(new Holder())
      cache.set('a', value, 1000)
      assert.equal(cache.get('a'), value)
      assert.equal(cache.get('a'), value)
      assert.equal((cache.get('a') as Holder).secret(), 7)
    })

    sentence('keys differ by every character', ({ cache }) => {
      const [lower, upper] = [{}, {}]
      cache.set('a', lower, 1000)
      cache.set('A', upper, 1000)
      assert.equal(cache.get('a'), lower)
      assert.equal(cache.get('A'), upper)
      assert.equal(cache.get('a '), undefined)
    })

    for (const ttlMs of [2, 300, 999, 1000, 1500, 60_000, 3_650 * 86_400_000]) {
      sentence(`a value with ${ttlMs} ms is there until just before they end and gone after`, (timed) => {
        timed.cache.set('a', {}, ttlMs)
        timed.advance(ttlMs - 1)
        assert.notEqual(timed.cache.get('a'), undefined)
        timed.advance(2)
        assert.equal(timed.cache.get('a'), undefined)
      })
    }

    sentence('the shortest of lives is not taken for ever', (timed) => {
      for (const ttlMs of [1, 0.5, 0.001, Number.MIN_VALUE]) {
        timed.cache.set('a', {}, ttlMs)
        timed.advance(3)
        assert.equal(timed.cache.get('a'), undefined, `${ttlMs} ms`)
      }
    })

    for (const ttlMs of [0, -0, -1, -1000, Number.NaN, -Infinity]) {
      sentence(`a life of ${ttlMs} ms keeps nothing, and drops what was there`, ({ cache }) => {
        cache.set('a', {}, ttlMs)
        assert.equal(cache.get('a'), undefined)
        cache.set('b', {}, 1000)
        cache.set('b', {}, ttlMs)
        assert.equal(cache.get('b'), undefined)
      })
    }

    sentence('replacing gives the new value its own life', (timed) => {
      const [first, second] = [{}, {}]
      timed.cache.set('a', first, 1000)
      timed.advance(900)
      timed.cache.set('a', second, 1000)
      timed.advance(900)
      assert.equal(timed.cache.get('a'), second)
      timed.cache.set('a', first, 10)
      timed.advance(11)
      assert.equal(timed.cache.get('a'), undefined)
    })

    sentence('a full one drops the entry that came first, and never throws', ({ cache }) => {
      const keys = ['a', 'b', 'c', 'd', 'e']
      for (const key of keys) cache.set(key, {}, 1000)
      assert.deepEqual(present(cache, keys), ['c', 'd', 'e'])
    })

    sentence('replacing in a full one drops nothing else, and makes the entry the newest', ({ cache }) => {
      for (const key of ['a', 'b', 'c', 'a', 'a']) cache.set(key, {}, 1000)
      assert.deepEqual(present(cache, ['a', 'b', 'c']), ['a', 'b', 'c'])
      cache.set('d', {}, 1000)
      assert.deepEqual(present(cache, ['a', 'b', 'c', 'd']), ['a', 'c', 'd'])
    })

    sentence('what was deleted or has expired leaves room', (timed) => {
      for (const key of ['a', 'b', 'c']) timed.cache.set(key, {}, key === 'b' ? 10 : 1000)
      timed.cache.delete('c')
      timed.cache.set('d', {}, 1000)
      assert.deepEqual(present(timed.cache, ['a', 'b', 'd']), ['a', 'b', 'd'])
      timed.advance(11)
      assert.deepEqual(present(timed.cache, ['a', 'b', 'd']), ['a', 'd'])
      timed.cache.set('e', {}, 1000)
      assert.deepEqual(present(timed.cache, ['a', 'd', 'e']), ['a', 'd', 'e'])
    })

    sentence('of ten thousand entries only as many are left as it may hold', ({ cache }) => {
      const keys = Array.from({ length: 10_000 }, (_, index) => `key ${index}`)
      for (const key of keys) cache.set(key, {}, 60_000)
      assert.deepEqual(present(cache, keys), keys.slice(-3))
    })

    sentence('deleting one leaves the others', ({ cache }) => {
      for (const key of ['a', 'b']) cache.set(key, {}, 1000)
      cache.delete('a')
      cache.delete('a')
      assert.deepEqual(present(cache, ['a', 'b']), ['b'])
    })

    sentence('clearing empties it, and it goes on as a new one', ({ cache }) => {
      for (const key of ['a', 'b', 'c']) cache.set(key, {}, 1000)
      cache.clear()
      assert.deepEqual(present(cache, ['a', 'b', 'c']), [])
      for (const key of ['b', 'd', 'e', 'f']) cache.set(key, {}, 1000)
      assert.deepEqual(present(cache, ['b', 'd', 'e', 'f']), ['d', 'e', 'f'])
    })

    sentence('tells each value that leaves, once, with its key; a clear tells nothing', (timed) => {
      const { cache } = timed
      const told: (readonly [key: string, value: object])[] = []
      cache.onRemoved((key, value) => told.push([key, value]))
      const values = Array.from({ length: 9 }, (_, index) => ({ index }))
      const value = (index: number) => values[index] ?? assert.fail()

      cache.set('deleted', value(0), 1000)
      cache.delete('deleted')
      cache.delete('deleted')
      assert.deepEqual(told.splice(0), [['deleted', value(0)]])

      cache.set('expired', value(1), 10)
      timed.advance(11)
      assert.equal(cache.get('expired'), undefined)
      assert.equal(cache.get('expired'), undefined)
      assert.deepEqual(told.splice(0), [['expired', value(1)]])

      cache.set('replaced', value(2), 1000)
      cache.set('replaced', value(3), 1000)
      assert.deepEqual(told.splice(0), [['replaced', value(2)]])

      cache.set('x', value(4), 1000)
      cache.set('y', value(5), 1000)
      cache.set('z', value(6), 1000)
      const [evicted] = told.splice(0)
      assert.equal(evicted?.[0], 'replaced')
      assert.equal(evicted?.[1], value(3))

      cache.clear()
      assert.deepEqual(told, [])
    })

    sentence('while it tells, the value that leaves is not there any more', ({ cache }) => {
      let seen: object | undefined = {}
      cache.onRemoved((key) => {
        seen = cache.get(key)
      })
      cache.set('a', {}, 1000)
      cache.delete('a')
      assert.equal(seen, undefined)
    })
  })

  function sentence(says: string, check: (timed: TimedCache) => void): void {
    it(says, () => check(create(3)))
  }
}

function present(cache: Cache<object>, keys: readonly string[]): readonly string[] {
  return keys.filter((key) => cache.get(key) !== undefined)
}
