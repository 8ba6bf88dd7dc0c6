import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { randomIds } from '../../../src/adapters/node-crypto/ids.ts'
import { newServiceSecret, serviceSecrets } from '../../../src/adapters/node-crypto/service-secrets.ts'
import { type ServiceToken, serviceTokenProblem } from '../../../src/domain/service-token.ts'

describe('Service secrets', () => {
  const tokens = ['monitor', 'billing', 'ci-2'].map((name) => ({ name, secret: newServiceSecret() }))
  const { nameOf } = serviceSecrets(tokens)

  it('are each found under their name', () => {
    for (const { name, secret } of tokens) assert.equal(nameOf(secret), name)
  })

  it('are not found when one character differs, is added or is missing, or for any other text', () => {
    for (const { name, secret } of tokens) {
      for (let at = 0; at < secret.length; at++) {
        const changed = secret.slice(0, at) + (secret[at] === 'a' ? 'b' : 'a') + secret.slice(at + 1)
        assert.equal(nameOf(changed), null)
        assert.equal(nameOf(secret.slice(0, at)), null)
      }
      for (const presented of [`${secret}x`, ` ${secret}`, `${name}=${secret}`, secret + secret, name]) {
        assert.equal(nameOf(presented), null)
      }
    }
    for (const presented of ['', '\u0000', '\ud83e', 'é'.repeat(40), 'a'.repeat(100_000)]) {
      assert.equal(nameOf(presented), null)
    }
  })

  it('are not found after they have been replaced', () => {
    const [removed, retained, added] = tokens as [ServiceToken, ServiceToken, ServiceToken]
    const secrets = serviceSecrets([removed, retained])
    secrets.rotate([retained, added])
    const names = [removed, retained, added].map(({ secret }) => secrets.nameOf(secret))
    assert.deepEqual(names, [null, retained.name, added.name])
  })

  it('are not found when none is configured', () => {
    for (const presented of ['', 'undefined', newServiceSecret()]) {
      assert.equal(serviceSecrets([]).nameOf(presented), null)
    }
  })

  it('are generated with one length, are distinct, and may be configured as they are', () => {
    const secrets = Array.from({ length: 500 }, newServiceSecret)
    assert.equal(new Set(secrets).size, 500)
    for (const secret of secrets) {
      assert.match(secret, /^[A-Za-z0-9_-]{43}$/)
      assert.equal(serviceTokenProblem({ name: 'x', secret }), null)
    }
  })
})

it('Ids are distinct UUIDs of version 4', () => {
  const ids = Array.from({ length: 1000 }, randomIds.next)
  assert.equal(new Set(ids).size, 1000)
  for (const id of ids) {
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  }
})
