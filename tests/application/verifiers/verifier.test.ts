import assert from 'node:assert/strict'
import { it } from 'node:test'
import { hasAbility, VerifierUnavailable } from '../../../src/application/verifiers/verifier.ts'

it('A verified token has its abilities, and those that they include', () => {
  const verified = {
    customerId: 'c',
    email: 'e',
    tokenName: 'bot',
    abilities: ['orders:*'],
    expiresAtMs: null,
  }
  assert.equal(hasAbility(verified, 'orders:read'), true)
  assert.equal(hasAbility(verified, 'users:read'), false)
})

it('A verifier without a result says when to try again, if it knows', () => {
  assert.equal(new VerifierUnavailable('No.').retryAfterMs, null)
  assert.equal(new VerifierUnavailable('Too many.', 500).retryAfterMs, 500)
})
