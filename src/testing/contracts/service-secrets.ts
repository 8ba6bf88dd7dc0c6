import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { ServiceSecrets } from '../../application/ports/secrets.ts'
import type { ServiceToken } from '../../domain/service-token.ts'
import { type TestRunner, withTimeout } from '../runner.ts'

/**
 * The contract of `ServiceSecrets`: only the exact secret of a service token has its name and scopes. `create` returns secrets of
 * these tokens; it is called for each test. There are no concurrent tests, because the port is synchronous. That every
 * text takes the same time is not tested. Takes 0.1 s.
 */
export function serviceSecretsContract(
  name: string,
  create: (tokens: readonly ServiceToken[]) => ServiceSecrets,
  runner?: TestRunner,
): void {
  const { describe, it } = withTimeout(runner)
  describe(`${name} keeps the contract of ServiceSecrets:`, () => {
    const tokens = [
      { name: 'monitor', scopes: ['status', 'metrics'] },
      { name: 'billing', scopes: ['ops'] },
      { name: 'ci-2', scopes: ['reports:read', 'status'] },
    ].map((caller) => ({ ...caller, secret: randomBytes(32).toString('base64url') }))

    it('each secret has the name and the scopes of its token', () => {
      const secrets = create(tokens)
      for (const { name, scopes, secret } of tokens) {
        const caller = secrets.identify(secret)
        assert.deepEqual([caller?.name, caller?.scopes], [name, scopes])
      }
    })

    it('a secret in which one character differs, is added or is missing has no name', () => {
      const secrets = create(tokens)
      for (const { name, secret } of tokens) {
        for (let at = 0; at < secret.length; at++) {
          const changed = secret.slice(0, at) + (secret[at] === 'a' ? 'b' : 'a') + secret.slice(at + 1)
          assert.equal(secrets.identify(changed), null, `changed at ${at}`)
          assert.equal(secrets.identify(secret.slice(0, at)), null, `the first ${at} characters`)
        }
        for (const presented of [`${secret}x`, ` ${secret}`, `${name}=${secret}`, secret + secret, name])
          assert.equal(secrets.identify(presented), null, JSON.stringify(presented))
      }
    })

    it('another text has no name, and is no error', () => {
      const secrets = create(tokens)
      for (const presented of ['', '\u0000', '\ud83e', 'é'.repeat(40), 'a'.repeat(100_000)])
        assert.equal(secrets.identify(presented), null, JSON.stringify(presented.slice(0, 40)))
    })

    it('without service tokens, no text has a name', () => {
      const secrets = create([])
      for (const presented of ['', 'undefined', ...tokens.map(({ secret }) => secret)])
        assert.equal(secrets.identify(presented), null, JSON.stringify(presented))
    })
  })
}
