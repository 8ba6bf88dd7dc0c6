import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomIds } from '../../../src/adapters/node-crypto/ids.ts'
import { idsContract } from '../../../src/testing/contracts/ids.ts'

idsContract('node:crypto', () => randomIds)

test('an id is a random UUID, of version 4', () => {
  assert.match(randomIds.next(), /^[0-9a-f]{8}-[0-9a-f]{4}-4/)
})
