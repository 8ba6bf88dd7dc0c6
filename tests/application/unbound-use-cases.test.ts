import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unboundDatabase, unboundUseCases } from '../../src/application/use-cases/unbound-use-cases.ts'

test('unbound use cases and databases can be read, alone and in groups, but not called', () => {
  const { login, customers, deadline } = unboundUseCases()
  const { find } = customers
  for (const call of [login, find, customers.add, deadline, unboundDatabase().ready])
    assert.throws(() => (call as () => unknown)(), /without a running service/)
})
