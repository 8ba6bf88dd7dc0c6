import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  authenticates,
  createLoginToken,
  LOGIN_TOKEN_ABILITIES,
  LOGIN_TOKEN_NAME,
  tokenNameProblem,
  tokenState,
} from '../../src/domain/login-token.ts'
import { aCustomer, aLoginToken } from '../../src/testing/builders.ts'

const NOW = 1_700_000_000_000
const aToken = (expiresAtMs: number | null, revokedAtMs: number | null = null) =>
  aLoginToken({ customerId: 'x', expiresAtMs, revokedAtMs })

describe('A token', () => {
  it('is expired from the millisecond of its expiry on', () => {
    const token = aToken(NOW)
    assert.equal(tokenState(token, NOW - 1), 'active')
    assert.equal(tokenState(token, NOW), 'expired')
    assert.equal(tokenState(token, NOW + 1), 'expired')
  })

  it('without an expiry never expires', () => {
    for (const nowMs of [0, NOW, Number.MAX_SAFE_INTEGER]) {
      assert.equal(tokenState(aToken(null), nowMs), 'active')
    }
  })

  it('with an expiry at the epoch is expired', () => {
    assert.equal(tokenState(aToken(0), 0), 'expired')
    assert.equal(tokenState(aToken(0), -1), 'active')
  })

  it('stays revoked at any time, even after its expiry', () => {
    for (const expiresAtMs of [NOW - 1, NOW, NOW + 1, null]) {
      for (const revokedAtMs of [0, NOW - 1, NOW, NOW + 1]) {
        assert.equal(tokenState(aToken(expiresAtMs, revokedAtMs), NOW), 'revoked')
      }
    }
  })

  it('expires after its lifetime, and never if its lifetime is null', () => {
    for (const ttlMs of [3_600_000, 1])
      assert.equal(
        createLoginToken({ id: 't', customerId: 'c', createdAtMs: NOW, ttlMs }).expiresAtMs,
        NOW + ttlMs,
      )
    assert.equal(
      createLoginToken({ id: 't', customerId: 'c', createdAtMs: NOW, ttlMs: null }).expiresAtMs,
      null,
    )
  })

  it('of a login has a reserved name and all abilities, and is frozen', () => {
    assert.equal(LOGIN_TOKEN_NAME, 'login')
    assert.deepEqual(LOGIN_TOKEN_ABILITIES, ['*'])
    assert.ok(Object.isFrozen(LOGIN_TOKEN_ABILITIES))
  })
})

describe('The name of a named token', () => {
  it('has 1 to 100 characters, no control characters, and is not the name of login tokens', () => {
    for (const name of ['a', 'Login', '🦊'.repeat(100), 'Zoë’s "bot"'])
      assert.equal(tokenNameProblem(name), null)
    for (const name of ['', 'x'.repeat(101), 'login', 'a\u0000', 'a\u009b', 'a\ud800'])
      assert.match(tokenNameProblem(name) ?? '', /^Must .*\.$/)
  })
})

describe('A token authenticates its owner', () => {
  const active = aToken(NOW + 1)

  it('while it is active and the owner is enabled', () => {
    assert.equal(authenticates({ token: active, customer: aCustomer() }, NOW), true)
  })

  it('not once the owner is disabled', () => {
    for (const disabledAtMs of [0, NOW - 1, NOW + 1]) {
      assert.equal(authenticates({ token: active, customer: aCustomer({ disabledAtMs }) }, NOW), false)
    }
  })

  it('not once it is expired or revoked', () => {
    assert.equal(authenticates({ token: aToken(NOW), customer: aCustomer() }, NOW), false)
    assert.equal(authenticates({ token: aToken(null, NOW), customer: aCustomer() }, NOW), false)
  })
})
