import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { OAuth2Client } from '@badgateway/oauth2-client'
import * as oauth from 'oauth4webapi'
import { newServiceSecret } from '../../src/adapters/node-crypto/service-secrets.ts'
import { startApp } from '../support/running-app.ts'

/** Two clients of others, which share no code, talk to a service on PostgreSQL as to any OAuth server. */
describe('OAuth clients', () => {
  const secret = `${newServiceSecret()}+/=`
  let app: Awaited<ReturnType<typeof startApp>>
  before(async () => {
    app = await startApp({ env: { SERVICE_TOKENS: `gateway[introspect revoke]=${secret}` } })
  })
  after(() => app.close())

  test('oauth4webapi introspects and revokes a token', async () => {
    const token = await app.addToken(await app.addCustomer())
    const server = {
      issuer: app.url,
      introspection_endpoint: `${app.url}/introspect`,
      revocation_endpoint: `${app.url}/revoke`,
    }
    const client = { client_id: 'gateway' }
    const by = oauth.ClientSecretBasic(secret)
    const options = { [oauth.allowInsecureRequests]: true }
    const introspect = async () =>
      oauth.processIntrospectionResponse(
        server,
        client,
        await oauth.introspectionRequest(server, client, by, token, options),
      )
    const found = await introspect()
    assert.deepEqual([found.active, found.token_type], [true, 'Bearer'])
    await oauth.processRevocationResponse(await oauth.revocationRequest(server, client, by, token, options))
    assert.deepEqual(await introspect(), { active: false })
    const wrong = oauth.ClientSecretBasic('wrong')
    await assert.rejects(
      async () =>
        oauth.processIntrospectionResponse(
          server,
          client,
          await oauth.introspectionRequest(server, client, wrong, token, options),
        ),
      (error: unknown) => error instanceof oauth.WWWAuthenticateChallengeError && error.status === 401,
    )
  })

  for (const authenticationMethod of ['client_secret_basic', 'client_secret_basic_interop'] as const)
    test(`oauth2-client introspects and revokes a token by ${authenticationMethod}`, async () => {
      const accessToken = await app.addToken(await app.addCustomer())
      const token = { accessToken, expiresAt: null, refreshToken: null }
      const settings = { server: app.url, clientId: 'gateway', authenticationMethod }
      const endpoints = { introspectionEndpoint: '/introspect', revocationEndpoint: '/revoke' }
      const client = new OAuth2Client({ ...settings, ...endpoints, clientSecret: secret })
      assert.equal((await client.introspect(token)).active, true)
      await client.revoke(token)
      assert.deepEqual(await client.introspect(token), { active: false })
      const stranger = new OAuth2Client({ ...settings, ...endpoints, clientSecret: 'wrong' })
      await assert.rejects(stranger.introspect(token), /invalid_client/)
    })
})
