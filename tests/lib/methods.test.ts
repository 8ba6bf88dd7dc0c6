import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { methods } from '../../src/lib/methods.ts'

class Counter {
  #count = 0
  add(): number {
    this.#count += 1
    return this.#count
  }
}

class DoubleCounter extends Counter {
  override add(): number {
    super.add()
    return super.add()
  }
  reset = () => 'reset'
}

describe('The methods of an adapter', () => {
  it('survive a spread when the adapter is an instance of a class, with its state and its parent', () => {
    const counter = new DoubleCounter()
    const decorated = Object.assign({}, methods(counter))
    assert.deepEqual(Object.keys(decorated).sort(), ['add', 'reset'])
    assert.deepEqual([decorated.add(), counter.add(), decorated.reset()], [2, 4, 'reset'])
  })

  it('survive a spread when the adapter is a plain object that uses its own state, or has no prototype', () => {
    const plain = {
      count: 0,
      add() {
        this.count += 1
        return this.count
      },
    }
    const decorated = { ...methods(plain) }
    assert.deepEqual([decorated.add(), plain.add(), decorated.add()], [1, 2, 3])
    const bare = Object.assign(Object.create(null) as object, { add: () => 1 })
    assert.equal(methods(bare).add(), 1)
  })
})
