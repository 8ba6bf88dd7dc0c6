import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Customers } from '../../src/application/ports/customers.ts'
import type { LoginTokens } from '../../src/application/ports/login-tokens.ts'
import {
  InsufficientServiceScope,
  InvalidServiceToken,
  InvalidToken,
  Unavailable,
} from '../../src/domain/errors.ts'
import { memoryCore, SERVICE, unreachable } from '../support/core.ts'

it('A configured service token returns its name without a store call', () => {
  const { port, calls } = unreachable<Customers & LoginTokens>(new Unavailable())
  const core = memoryCore(() => ({ customers: port, loginTokens: port }))
  assert.equal(core.verifyServiceToken(SERVICE.secret), 'monitor')
  assert.deepEqual(calls, [])
})

it('Every other token is refused, and so is a missing one', () => {
  const { verifyServiceToken } = memoryCore()
  const { name, secret } = SERVICE
  for (const presented of [
    null,
    '',
    name,
    `${secret}x`,
    secret.slice(1),
    secret.toLowerCase(),
    ` ${secret}`,
  ]) {
    assert.throws(() => verifyServiceToken(presented), InvalidServiceToken)
  }
})

it('A service token does not authenticate a customer, nor a login token a service', async () => {
  const core = memoryCore()
  const { secret } = await core.token(await core.customer())
  await core.authenticate(secret, core.deadline())
  assert.throws(() => core.verifyServiceToken(secret), InvalidServiceToken)
  await assert.rejects(async () => core.authenticate(SERVICE.secret, core.deadline()), InvalidToken)
})

it('A service token passes with every required scope, and the error names those that are missing', () => {
  const { verifyServiceToken } = memoryCore()
  const { secret, scopes } = SERVICE
  assert.equal(verifyServiceToken(secret, scopes), 'monitor')
  for (const [required, missing] of [
    [['ops'], 'scope "ops"'],
    [['status', 'ops'], 'scope "ops"'],
    [['revoke', 'status', 'verify'], 'scopes "revoke" and "verify"'],
  ] as const) {
    const error = new InsufficientServiceScope(required, [])
    error.message = `The service token lacks the ${missing}.`
    assert.throws(() => verifyServiceToken(secret, required), error)
  }
})

it('A missing or unknown token is refused as such, whatever the route requires', () => {
  const { verifyServiceToken } = memoryCore()
  for (const presented of [null, `${SERVICE.secret}x`])
    assert.throws(() => verifyServiceToken(presented, ['ops']), InvalidServiceToken)
})
