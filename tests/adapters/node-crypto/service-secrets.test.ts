import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newServiceSecret, serviceSecrets } from '../../../src/adapters/node-crypto/service-secrets.ts'
import { type ServiceToken, serviceTokenProblem } from '../../../src/domain/service-token.ts'
import { serviceSecretsContract } from '../../../src/testing/contracts/service-secrets.ts'

serviceSecretsContract('node:crypto', serviceSecrets)

describe('Service secrets', () => {
  const tokens = ['monitor', 'billing', 'ci-2'].map((name) => ({
    name,
    scopes: ['status'],
    secret: newServiceSecret(),
  }))

  it('are not found after they have been replaced', () => {
    const [removed, retained, added] = tokens as unknown as [ServiceToken, ServiceToken, ServiceToken]
    const secrets = serviceSecrets([removed, retained])
    secrets.rotate([retained, added])
    const names = [removed, retained, added].map(({ secret }) => secrets.identify(secret)?.name ?? null)
    assert.deepEqual(names, [null, retained.name, added.name])
  })

  it('have the scopes of the latest rotation', () => {
    const [token] = tokens as unknown as [ServiceToken]
    const secrets = serviceSecrets([token])
    secrets.rotate([{ ...token, scopes: ['ops'] }])
    assert.deepEqual(secrets.identify(token.secret), { name: token.name, scopes: ['ops'] })
  })

  it('are generated with one length, are distinct, and may be configured as they are', () => {
    const secrets = Array.from({ length: 500 }, newServiceSecret)
    assert.equal(new Set(secrets).size, 500)
    for (const secret of secrets) {
      assert.match(secret, /^[A-Za-z0-9_-]{43}$/)
      assert.equal(serviceTokenProblem({ name: 'x', scopes: ['status'], secret }), null)
    }
  })
})
