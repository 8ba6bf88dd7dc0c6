import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isoTime } from '../../../src/adapters/http/response/iso-time.ts'
import { presentProfile } from '../../../src/adapters/http/routes/profile.ts'
import { aCustomer, aLoginToken } from '../../../src/testing/builders.ts'

const CREATED = Date.UTC(2026, 1, 28, 23, 59, 59, 7)

it('A profile is sent with the stored e-mail and ISO times in UTC, and no internal fields', () => {
  const customer = aCustomer({ id: 'c1', email: 'Ana@Example.com', name: 'Ana', createdAtMs: CREATED })
  const token = aLoginToken({
    id: 't1',
    customerId: 'c1',
    name: 'bot',
    abilities: ['orders:read'],
    createdAtMs: CREATED + 1,
    expiresAtMs: CREATED + 1000,
  })
  assert.deepEqual(presentProfile({ customer, token }), {
    customer: { id: 'c1', email: 'Ana@Example.com', name: 'Ana', created_at: '2026-02-28T23:59:59.007Z' },
    token: {
      name: 'bot',
      abilities: ['orders:read'],
      created_at: '2026-02-28T23:59:59.008Z',
      expires_at: '2026-03-01T00:00:00.007Z',
    },
  })
})

it('A missing name or expiry is null in a profile', () => {
  const customer = aCustomer({ name: null })
  const token = aLoginToken({ customerId: customer.id, expiresAtMs: null })
  const profile = presentProfile({ customer, token })
  assert.equal(profile.customer.name, null)
  assert.equal(profile.token.expires_at, null)
})

it('An expiry at the epoch is not null in a profile', () => {
  const token = aLoginToken({ customerId: 'x', expiresAtMs: 0 })
  assert.equal(presentProfile({ customer: aCustomer(), token }).token.expires_at, '1970-01-01T00:00:00.000Z')
})

it('A time is written in UTC with milliseconds in every time zone', () => {
  const { TZ } = process.env
  try {
    for (const zone of ['America/New_York', 'Asia/Kathmandu', 'UTC']) {
      process.env.TZ = zone
      assert.equal(isoTime(CREATED), '2026-02-28T23:59:59.007Z')
    }
  } finally {
    if (TZ === undefined) delete process.env.TZ
    else process.env.TZ = TZ
  }
})
