import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cachedReading } from '../../../src/adapters/prometheus/cached-reading.ts'

/** A number that somebody must count, and the time. */
function counted() {
  const state = { nowMs: 0, reads: 0, answer: async (): Promise<number> => 7 }
  const latest = cachedReading(
    () => {
      state.reads++
      return state.answer()
    },
    () => state.nowMs,
  )
  return { state, latest }
}

describe('A number that is read now and then', () => {
  test('is read once for all who ask within a minute', async () => {
    const { state, latest } = counted()
    assert.deepEqual(await Promise.all(Array.from({ length: 50 }, latest)), Array(50).fill(7))
    state.nowMs = 59_999
    state.answer = async () => 8
    assert.deepEqual([await latest(), state.reads], [7, 1])
    state.nowMs = 60_000
    await latest()
    assert.deepEqual([await latest(), state.reads], [8, 2])
  })

  test('keeps nobody waiting but those who ask first', async () => {
    const { state, latest } = counted()
    await latest()
    state.nowMs = 60_000
    state.answer = () => new Promise(() => {})
    assert.equal(await latest(), 7, 'the one before, while the next is read')
  })

  test('is nothing while it cannot be read', async () => {
    const { state, latest } = counted()
    state.answer = async () => {
      throw new Error('no database')
    }
    assert.equal(await latest(), null)
    state.nowMs = 60_000
    state.answer = async () => 9
    await latest()
    assert.equal(await latest(), 9)
  })
})
