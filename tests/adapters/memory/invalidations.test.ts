import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memoryInvalidations } from '../../../src/adapters/memory/invalidations.ts'
import { invalidationsContract } from '../../contracts/invalidations.ts'

invalidationsContract('the memory', async () => memoryInvalidations())

it('within one process an announcement is obeyed at once, without waiting for a turn', () => {
  const { subscribe, announce } = memoryInvalidations()
  let count = 0
  subscribe(() => {
    count += 1
  })
  announce({ kind: 'everything' })
  assert.equal(count, 1)
})
