import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  chargedToService,
  requesterFields,
  serviceFields,
  sharedNetwork,
} from '../../src/application/requester.ts'
import { aRequester } from '../support/idle-ports.ts'

describe('A requester', () => {
  it('may be charged to a service token, and keeps the rest', () => {
    const requester = aRequester({ requestId: 'r1', address: '192.0.2.7' })
    const charged = chargedToService(requester, 'gateway')
    assert.deepEqual(
      [charged.requestId, charged.address, charged.payer],
      ['r1', '192.0.2.7', 'service gateway'],
    )
    assert.equal(charged.signal, requester.signal)
  })

  it('that is charged to a service token creates the signal only on first access', () => {
    let created = 0
    const { signal } = new AbortController()
    const requester = {
      ...aRequester(),
      get signal() {
        created += 1
        return signal
      },
    }
    const charged = chargedToService(requester, 'gateway')
    assert.equal(created, 0)
    assert.equal(charged.signal, signal)
    assert.equal(created, 1)
  })

  it('shares a network of 48 bits with the others of its provider’s customer', () => {
    assert.equal(sharedNetwork('192.0.2.7'), '192.0.2.7')
    assert.equal(sharedNetwork('2001:db8:1:2::/64'), '2001:db8:1::/48')
  })

  it('is named in the audit log, with the service token of a service', () => {
    const requester = aRequester({ requestId: 'r1', address: '192.0.2.7' })
    const fields = { requestId: 'r1', address: '192.0.2.7' }
    assert.deepEqual(requesterFields(requester), fields)
    assert.deepEqual(serviceFields({ requester, service: 'oncall' }), { ...fields, service: 'oncall' })
  })
})
