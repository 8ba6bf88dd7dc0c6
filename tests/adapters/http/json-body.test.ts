import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as v from 'valibot'
import { cachedBodies, JsonBody } from '../../../src/adapters/http/response/json-body.ts'
import type { OwnedToken } from '../../../src/domain/login-token.ts'
import { aCustomer, aLoginToken } from '../../../src/testing/builders.ts'

describe('a JSON body', () => {
  test('begins with success, and has its length in bytes', () => {
    const { text, bytes } = new JsonBody({ name: 'Zoë 😀' })
    assert.equal(text, '{"success":true,"name":"Zoë 😀"}')
    assert.equal(bytes, Buffer.from(text).length)
    assert.notEqual(bytes, text.length)
    assert.equal(new JsonBody(undefined).text, '{"success":true}')
  })

  test('is created once for a cached validation, and for each request of one that is not cached', () => {
    let created = 0
    const returns = v.object({ token: v.string(), name: v.nullable(v.string()) })
    const handle = cachedBodies(returns, ({ token, customer }: OwnedToken) => {
      created += 1
      return { token: token.id, name: customer.name, undeclared: 'stays here' }
    })
    const caller = {
      token: aLoginToken({ customerId: 'c1' }),
      customer: aCustomer({ id: 'c1', name: 'Ada' }),
    }
    const cached = { ...caller, memo: { value: undefined } }
    assert.equal(handle(cached), handle({ ...cached }))
    assert.equal(created, 1)
    assert.equal(handle(cached).text.includes('undeclared'), false)

    const renamed = { ...caller.customer, name: 'Ada Lovelace' }
    assert.match(
      handle({ ...cached, customer: renamed, memo: { value: undefined } }).text,
      /"name":"Ada Lovelace"/,
    )
    assert.equal(created, 2)
    assert.notEqual(handle(caller), handle(caller))
    assert.equal(created, 4)
  })
})
