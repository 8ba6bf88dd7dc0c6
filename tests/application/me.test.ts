import assert from 'node:assert/strict'
import { it } from 'node:test'
import { me } from '../../src/application/use-cases/me.ts'
import { aCustomer, aLoginToken } from '../../src/testing/builders.ts'

it('A profile has the stored e-mail and no internal fields', () => {
  const customer = aCustomer({ id: 'c1', email: 'Ana@Example.com', name: 'Ana', createdAtMs: 7 })
  const token = aLoginToken({
    id: 't1',
    customerId: 'c1',
    name: 'bot',
    abilities: ['orders:read'],
    createdAtMs: 8,
    expiresAtMs: 1000,
  })
  assert.deepEqual(me({ customer, token }), {
    customer: { id: 'c1', email: 'Ana@Example.com', name: 'Ana', createdAtMs: 7 },
    token: { name: 'bot', abilities: ['orders:read'], createdAtMs: 8, expiresAtMs: 1000 },
  })
})
