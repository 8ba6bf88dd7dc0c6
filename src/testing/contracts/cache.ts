import assert from 'node:assert/strict'
import type { Cache } from '../../application/ports/cache.ts'
import { type TestRunner, withTimeout } from '../runner.ts'

/** A cache, and a function that advances its clock by `ms` milliseconds. */
export interface TimedCache {
  readonly cache: Cache<object>
  advance(ms: number): void
}

/**
 * The contract of `Cache`: entries expire at their millisecond whatever their TTL, a full cache evicts the oldest entry,
 * and the listener is called for each removed value. `create` returns an empty cache of at most `maxEntries`, and a
 * function that advances its clock; it is called for each test. There are no concurrent tests, because the port is
 * synchronous. Takes 0.1 s.
 */
export function cacheContract(
  name: string,
  create: (maxEntries: number) => TimedCache,
  runner?: TestRunner,
): void {
  const { describe, it } = withTimeout(runner)
  describe(`${name} keeps the contract of Cache:`, () => {
    sentence('a key that was never set has no value', ({ cache }) => {
      for (const key of ['a', '', 'd9c73349']) {
        assert.equal(cache.get(key), undefined)
        cache.delete(key)
      }
    })

    sentence('it returns the value itself, not a copy', ({ cache }) => {
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
      sentence(
        `a value with a TTL of ${ttlMs} ms is there until just before its expiry and gone after it`,
        (timed) => {
          timed.cache.set('a', {}, ttlMs)
          timed.advance(ttlMs - 1)
          assert.notEqual(timed.cache.get('a'), undefined)
          timed.advance(2)
          assert.equal(timed.cache.get('a'), undefined)
        },
      )
    }

    sentence('the shortest TTL does not mean forever', (timed) => {
      for (const ttlMs of [1, 0.5, 0.001, Number.MIN_VALUE]) {
        timed.cache.set('a', {}, ttlMs)
        timed.advance(3)
        assert.equal(timed.cache.get('a'), undefined, `${ttlMs} ms`)
      }
    })

    for (const ttlMs of [0, -0, -1, -1000, Number.NaN, -Infinity]) {
      sentence(`a TTL of ${ttlMs} ms stores nothing and removes the earlier value`, ({ cache }) => {
        cache.set('a', {}, ttlMs)
        assert.equal(cache.get('a'), undefined)
        cache.set('b', {}, 1000)
        cache.set('b', {}, ttlMs)
        assert.equal(cache.get('b'), undefined)
      })
    }

    sentence('a replaced value gets its own TTL', (timed) => {
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

    sentence('a full cache evicts the oldest entry and never throws', ({ cache }) => {
      const keys = ['a', 'b', 'c', 'd', 'e']
      for (const key of keys) cache.set(key, {}, 1000)
      assert.deepEqual(present(cache, keys), ['c', 'd', 'e'])
    })

    sentence(
      'replacing a value in a full cache evicts nothing and makes the entry the newest',
      ({ cache }) => {
        for (const key of ['a', 'b', 'c', 'a', 'a']) cache.set(key, {}, 1000)
        assert.deepEqual(present(cache, ['a', 'b', 'c']), ['a', 'b', 'c'])
        cache.set('d', {}, 1000)
        assert.deepEqual(present(cache, ['a', 'b', 'c', 'd']), ['a', 'c', 'd'])
      },
    )

    sentence('deleted and expired entries make room', (timed) => {
      for (const key of ['a', 'b', 'c']) timed.cache.set(key, {}, key === 'b' ? 10 : 1000)
      timed.cache.delete('c')
      timed.cache.set('d', {}, 1000)
      assert.deepEqual(present(timed.cache, ['a', 'b', 'd']), ['a', 'b', 'd'])
      timed.advance(11)
      assert.deepEqual(present(timed.cache, ['a', 'b', 'd']), ['a', 'd'])
      timed.cache.set('e', {}, 1000)
      assert.deepEqual(present(timed.cache, ['a', 'd', 'e']), ['a', 'd', 'e'])
    })

    sentence('of ten thousand entries only the newest three remain', ({ cache }) => {
      const keys = Array.from({ length: 10_000 }, (_, index) => `key ${index}`)
      for (const key of keys) cache.set(key, {}, 60_000)
      assert.deepEqual(present(cache, keys), keys.slice(-3))
    })

    sentence('deleting one entry leaves the others', ({ cache }) => {
      for (const key of ['a', 'b']) cache.set(key, {}, 1000)
      cache.delete('a')
      cache.delete('a')
      assert.deepEqual(present(cache, ['a', 'b']), ['b'])
    })

    sentence('a cleared cache is empty and works like a new one', ({ cache }) => {
      for (const key of ['a', 'b', 'c']) cache.set(key, {}, 1000)
      cache.clear()
      assert.deepEqual(present(cache, ['a', 'b', 'c']), [])
      for (const key of ['b', 'd', 'e', 'f']) cache.set(key, {}, 1000)
      assert.deepEqual(present(cache, ['b', 'd', 'e', 'f']), ['d', 'e', 'f'])
    })

    sentence('it reports each removed value once, with its key, and nothing on clear', (timed) => {
      const { cache } = timed
      const removed: (readonly [key: string, value: object])[] = []
      cache.onRemoved((key, value) => removed.push([key, value]))
      const values = Array.from({ length: 9 }, (_, index) => ({ index }))
      const value = (index: number) => values[index] ?? assert.fail()

      cache.set('deleted', value(0), 1000)
      cache.delete('deleted')
      cache.delete('deleted')
      assert.deepEqual(removed.splice(0), [['deleted', value(0)]])

      cache.set('expired', value(1), 10)
      timed.advance(11)
      assert.equal(cache.get('expired'), undefined)
      assert.equal(cache.get('expired'), undefined)
      assert.deepEqual(removed.splice(0), [['expired', value(1)]])

      cache.set('replaced', value(2), 1000)
      cache.set('replaced', value(3), 1000)
      assert.deepEqual(removed.splice(0), [['replaced', value(2)]])

      cache.set('x', value(4), 1000)
      cache.set('y', value(5), 1000)
      cache.set('z', value(6), 1000)
      const [evicted] = removed.splice(0)
      assert.equal(evicted?.[0], 'replaced')
      assert.equal(evicted?.[1], value(3))

      cache.clear()
      assert.deepEqual(removed, [])
    })

    sentence('a value is already gone when its removal is reported', ({ cache }) => {
      let seen: object | undefined = {}
      cache.onRemoved((key) => {
        seen = cache.get(key)
      })
      cache.set('a', {}, 1000)
      cache.delete('a')
      assert.equal(seen, undefined)
    })
  })

  function sentence(title: string, check: (timed: TimedCache) => void): void {
    it(title, () => check(create(3)))
  }
}

function present(cache: Cache<object>, keys: readonly string[]): readonly string[] {
  return keys.filter((key) => cache.get(key) !== undefined)
}
