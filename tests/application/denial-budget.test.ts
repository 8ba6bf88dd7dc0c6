import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DenialBudget, type LeftOut } from '../../src/application/denial-budget.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'

function createBudget(fails: () => boolean = () => false) {
  const clock = movableClock()
  const written: LeftOut[] = []
  const budget = new DenialBudget(clock, (leftOut) => {
    if (fails()) throw new Error('The disk is full.')
    written.push(leftOut)
  })
  const admitted = (count: number, event: string, address: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => budget.admits(event, address(i))).filter(Boolean).length
  return { budget, clock, written, admitted }
}
const one = () => '192.0.2.7'

describe('The budget of the lines about denials', () => {
  it('admits ten of an address and an event in a second, and writes the number of the others', () => {
    const { clock, written, admitted } = createBudget()
    assert.equal(admitted(10, 'a', one), 10)
    clock.advance(999)
    assert.equal(admitted(20, 'a', one), 0)
    assert.equal(admitted(12, 'b', one), 10)
    assert.equal(
      admitted(10, 'a', () => '192.0.2.8'),
      10,
    )
    assert.deepEqual(written, [])
    clock.advance(1000)
    assert.deepEqual(written, [
      { event: 'a', address: '192.0.2.7', count: 20 },
      { event: 'b', address: '192.0.2.7', count: 2 },
    ])
    assert.equal(admitted(11, 'a', one), 10)
    clock.advance(1000)
    assert.deepEqual(written.slice(2), [{ event: 'a', address: '192.0.2.7', count: 1 }])
  })

  it('writes the number of a second before the next line', () => {
    const { budget, clock, written, admitted } = createBudget()
    clock.after = () => () => {}
    admitted(13, 'a', one)
    clock.advance(1000)
    budget.admits('a', '192.0.2.9')
    assert.deepEqual(written, [{ event: 'a', address: '192.0.2.7', count: 3 }])
  })

  it('writes nothing when every denial had a line', () => {
    const { budget, clock, written, admitted } = createBudget()
    admitted(10, 'a', one)
    clock.advance(5000)
    budget.close()
    assert.deepEqual(written, [])
  })

  it('admits 1,000 of any number of addresses, then 20 a second, and counts the others together', () => {
    const { clock, written, admitted } = createBudget()
    assert.equal(
      admitted(5000, 'a', (i) => `first-${i}`),
      1000,
    )
    clock.advance(1000)
    assert.deepEqual(written, [{ event: 'a', address: null, count: 4000 }])
    assert.equal(
      admitted(5000, 'a', (i) => `second-${i}`),
      20,
    )
    clock.advance(10_000)
    assert.equal(
      admitted(5000, 'a', (i) => `third-${i}`),
      200,
    )
    clock.advance(3_600_000)
    assert.equal(
      admitted(5000, 'a', (i) => `fourth-${i}`),
      1000,
    )
  })

  it('counts an address with a line by itself, even if the lines of all addresses are used up', () => {
    const { budget, written, admitted } = createBudget()
    admitted(1, 'a', one)
    admitted(2000, 'a', (i) => `other-${i}`)
    admitted(1, 'a', one)
    budget.close()
    assert.deepEqual(written, [
      { event: 'a', address: '192.0.2.7', count: 1 },
      { event: 'a', address: null, count: 1001 },
    ])
  })

  it('counts again what could not be written, without addresses', () => {
    let fails = true
    const { clock, written, admitted } = createBudget(() => fails)
    admitted(15, 'a', one)
    clock.advance(1000)
    admitted(14, 'a', one)
    admitted(13, 'b', one)
    clock.advance(1000)
    fails = false
    admitted(12, 'a', one)
    clock.advance(1000)
    assert.deepEqual(written, [
      { event: 'a', address: '192.0.2.7', count: 2 },
      { event: 'a', address: null, count: 9 },
      { event: 'b', address: null, count: 3 },
    ])
  })

  it('writes what is counted when it is closed, once', () => {
    const { budget, clock, written, admitted } = createBudget()
    admitted(11, 'a', one)
    budget.close()
    budget.close()
    clock.advance(5000)
    assert.deepEqual(written, [{ event: 'a', address: '192.0.2.7', count: 1 }])
  })
})
