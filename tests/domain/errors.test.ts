import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  InsufficientScope,
  InsufficientServiceScope,
  InvalidCredentials,
  InvalidServiceToken,
  InvalidToken,
  LatchkeyError,
  LoginTokenRequired,
  MissingToken,
  Unavailable,
  ValidationFailed,
} from '../../src/domain/errors.ts'

const ERRORS = [
  [new MissingToken(), 'MissingToken', 'missing_token'],
  [new InvalidToken(), 'InvalidToken', 'invalid_token'],
  [new InvalidCredentials(), 'InvalidCredentials', 'invalid_credentials'],
  [new InvalidServiceToken(), 'InvalidServiceToken', 'invalid_service_token'],
  [new InsufficientScope(['orders:read']), 'InsufficientScope', 'insufficient_scope'],
  [new InsufficientServiceScope(['ops'], ['ops']), 'InsufficientServiceScope', 'insufficient_scope'],
  [new LoginTokenRequired(), 'LoginTokenRequired', 'login_token_required'],
  [new ValidationFailed({ email: ['No.'] }), 'ValidationFailed', 'validation_failed'],
  [new Unavailable(), 'Unavailable', 'unavailable'],
] as const

describe('A caller-facing error', () => {
  for (const [error, name, reason] of ERRORS) {
    it(`has the reason ${reason}, the name of its class and a complete sentence`, () => {
      assert.ok(error instanceof LatchkeyError)
      assert.ok(error instanceof Error)
      assert.equal(error.reason, reason)
      assert.equal(error.name, name)
      assert.match(error.message, /^[A-Z].*\.$/)
    })
  }

  it('has a unique sentence', () => {
    assert.equal(new Set(ERRORS.map(([{ message }]) => message)).size, ERRORS.length)
  })

  it('carries the abilities, fields and cause that its response needs', () => {
    assert.deepEqual(new InsufficientScope(['a:b', 'c']).required, ['a:b', 'c'])
    assert.deepEqual(new ValidationFailed({ email: ['No.'] }).errors, { email: ['No.'] })
    assert.deepEqual(new ValidationFailed({ email: ['No.'] }).details, [{ field: 'email', code: 'invalid' }])
    const details = [{ field: 'email', code: 'required' }]
    assert.deepEqual(new ValidationFailed({ email: ['No.'] }, details).details, details)
    const cause = new Error('socket')
    assert.equal(new Unavailable({ cause }).cause, cause)
    assert.ok(!new Unavailable({ cause }).message.includes('socket'))
  })
})
