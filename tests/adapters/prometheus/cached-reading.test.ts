import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cachedReading } from '../../../src/adapters/prometheus/cached-reading.ts'

/** A number that is expensive to read, and the time. */
function counted() {
  const state = { nowMs: 0, reads: 0, read: async (): Promise<number> => 7 }
  const latest = cachedReading(
    () => {
      state.reads++
      return state.read()
    },
    () => state.nowMs,
  )
  return { state, latest }
}

describe('A cached reading', () => {
  test('is read once for all callers within a minute', async () => {
    const { state, latest } = counted()
    assert.deepEqual(await Promise.all(Array.from({ length: 50 }, latest)), Array(50).fill(7))
    state.nowMs = 59_999
    state.read = async () => 8
    assert.deepEqual([await latest(), state.reads], [7, 1])
    state.nowMs = 60_000
    await latest()
    assert.deepEqual([await latest(), state.reads], [8, 2])
  })

  test('is waited for only by the first callers', async () => {
    const { state, latest } = counted()
    await latest()
    state.nowMs = 60_000
    state.read = () => new Promise(() => {})
    assert.equal(await latest(), 7, 'the one before, while the next is read')
  })

  test('is null while reading fails', async () => {
    const { state, latest } = counted()
    state.read = async () => {
      throw new Error('no database')
    }
    assert.equal(await latest(), null)
    state.nowMs = 60_000
    state.read = async () => 9
    await latest()
    assert.equal(await latest(), 9)
  })
})
