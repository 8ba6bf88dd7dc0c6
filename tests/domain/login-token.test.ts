import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  authenticates,
  expiresAt,
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
  it('is active until the millisecond before its expiry and expired from there on', () => {
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

  it('whose expiry is at the epoch itself is expired, not eternal', () => {
    assert.equal(tokenState(aToken(0), 0), 'expired')
    assert.equal(tokenState(aToken(0), -1), 'active')
  })

  it('that was revoked stays revoked, expired or not, and whatever the clock says', () => {
    for (const expiresAtMs of [NOW - 1, NOW, NOW + 1, null]) {
      for (const revokedAtMs of [0, NOW - 1, NOW, NOW + 1]) {
        assert.equal(tokenState(aToken(expiresAtMs, revokedAtMs), NOW), 'revoked')
      }
    }
  })

  it('expires its lifetime after it was made, and never with a lifetime of null', () => {
    assert.equal(expiresAt(NOW, 3_600_000), NOW + 3_600_000)
    assert.equal(expiresAt(NOW, 1), NOW + 1)
    assert.equal(expiresAt(NOW, null), null)
  })

  it('of a login has a name of its own and may do everything, unchangeably', () => {
    assert.equal(LOGIN_TOKEN_NAME, 'login')
    assert.deepEqual(LOGIN_TOKEN_ABILITIES, ['*'])
    assert.ok(Object.isFrozen(LOGIN_TOKEN_ABILITIES))
  })
})

describe('The name of a token for a bot', () => {
  it('has 1 to 100 characters, none of control, and is not that of login tokens', () => {
    for (const name of ['a', 'Login', '🦊'.repeat(100), 'Zoë’s "bot"'])
      assert.equal(tokenNameProblem(name), null)
    for (const name of ['', 'x'.repeat(101), 'login', 'a\u0000', 'a\u009b', 'a\ud800'])
      assert.match(tokenNameProblem(name) ?? '', /^Must .*\.$/)
  })
})

describe('A token authenticates its owner', () => {
  const active = aToken(NOW + 1)

  it('while it is active and the owner not disabled', () => {
    assert.equal(authenticates({ token: active, customer: aCustomer() }, NOW), true)
  })

  it('not any more once the owner is disabled, at whatever time', () => {
    for (const disabledAtMs of [0, NOW - 1, NOW + 1]) {
      assert.equal(authenticates({ token: active, customer: aCustomer({ disabledAtMs }) }, NOW), false)
    }
  })

  it('not any more once it has expired or was revoked', () => {
    assert.equal(authenticates({ token: aToken(NOW), customer: aCustomer() }, NOW), false)
    assert.equal(authenticates({ token: aToken(null, NOW), customer: aCustomer() }, NOW), false)
  })
})
