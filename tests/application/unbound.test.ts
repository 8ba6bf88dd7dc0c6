import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unboundLatchkey } from '../../src/application/unbound.ts'

test('unbound use cases can be taken, one by one and in a group, and none of them can be called', () => {
  const { login, customers, patience } = unboundLatchkey()
  const { find } = customers
  for (const call of [login, find, customers.add, patience])
    assert.throws(() => (call as () => unknown)(), /only being read/)
})
