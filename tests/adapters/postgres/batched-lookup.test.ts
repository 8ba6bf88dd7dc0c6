import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { batchedLookup } from '../../../src/adapters/postgres/batched-lookup.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { type Deferred, deferred } from '../../support/fakes.ts'

type Found = ReadonlyMap<string, () => string>

const found = (...keys: readonly string[]): Found => new Map(keys.map((key) => [key, () => `${key}!`]))
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('Batched lookups', () => {
  function gathering(most: number) {
    const sent: (Deferred<Found> & { readonly keys: readonly string[]; readonly timeoutMs: number })[] = []
    const find = batchedLookup<string>((keys, timeoutMs) => {
      const batch = { ...deferred<Found>(), keys, timeoutMs }
      sent.push(batch)
      return batch.promise
    }, most)
    return { find, sent }
  }

  it('are sent together if they start in one turn of the event loop, and each has its own result', async () => {
    const { find, sent } = gathering(10)
    const results = [find('a', 100), find('b', 100), find('a', 100)]
    await turn()
    assert.deepEqual(
      sent.map(({ keys, timeoutMs }) => ({ keys, timeoutMs })),
      [{ keys: ['a', 'b', 'a'], timeoutMs: 100 }],
    )
    sent[0]?.resolve(found('a'))
    assert.deepEqual(await Promise.all(results), ['a!', null, 'a!'])
  })

  it('do not wait for the batch in flight', async () => {
    const { find, sent } = gathering(10)
    const results = [find('a', 100)]
    await turn()
    results.push(find('b', 100))
    await turn()
    assert.deepEqual(
      sent.map(({ keys }) => keys),
      [['a'], ['b']],
    )
    for (const batch of sent) batch.resolve(found('a', 'b'))
    assert.deepEqual(await Promise.all(results), ['a!', 'b!'])
  })

  it('are sent in batches of limited size', async () => {
    const { find, sent } = gathering(2)
    const results = ['a', 'b', 'c', 'd', 'e'].map((key) => find(key, 100))
    await turn()
    assert.deepEqual(
      sent.map(({ keys }) => keys),
      [['a', 'b'], ['c', 'd'], ['e']],
    )
    for (const batch of sent) batch.resolve(found('a', 'b', 'c', 'd', 'e'))
    assert.equal((await Promise.all(results)).join(), 'a!,b!,c!,d!,e!')
  })

  it('are sent with their own timeout, never with another’s', async () => {
    const { find, sent } = gathering(10)
    const results = [find('a', 100), find('b', 100), find('c', 7)]
    await turn()
    assert.deepEqual(
      sent.map(({ keys, timeoutMs }) => [keys.join(), timeoutMs]),
      [
        ['a,b', 100],
        ['c', 7],
      ],
    )
    for (const batch of sent) batch.resolve(found())
    await Promise.all(results)
  })

  it('reject only with their own batch', async () => {
    const { find, sent } = gathering(2)
    const [first, second, third] = [find('a', 100), find('b', 100), find('c', 100)]
    await turn()
    sent[0]?.reject(new Unavailable())
    sent[1]?.resolve(found('c'))
    await assert.rejects(first, Unavailable)
    await assert.rejects(second, Unavailable)
    assert.equal(await third, 'c!')
  })

  it('return the other rows when one is unreadable', async () => {
    const { find, sent } = gathering(10)
    const [broken, whole] = [find('a', 100), find('b', 100)]
    await turn()
    const unreadable = () => {
      throw new TypeError('not a row')
    }
    sent[0]?.resolve(new Map([...found('b'), ['a', unreadable]]))
    await assert.rejects(broken, TypeError)
    assert.equal(await whole, 'b!')
  })
})
