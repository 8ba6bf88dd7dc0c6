import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { newServiceSecret } from '../../../src/adapters/node-crypto/service-secrets.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'

const HOLDERS = {
  plain: '',
  gateway: '[introspect]',
  oncall: '[ops]',
  reporter: '[reports audits:read]',
  all: '[status metrics routes ops reports audits:read]',
} as const
type Holder = keyof typeof HOLDERS

const secrets = Object.fromEntries(
  Object.keys(HOLDERS).map((name) => [name, newServiceSecret()]),
) as Readonly<Record<Holder, string>>

let app: TestApp
before(async () => {
  app = await createTestApp({
    settings: {
      OPS: 'on',
      SERVICE_TOKENS: Object.entries(HOLDERS)
        .map(([name, scopes]) => `${name}${scopes}=${secrets[name as Holder]}`)
        .join(','),
    },
    routes: () => [
      route('GET /plain', { auth: 'service', handle: ({ service }) => ({ service }) }),
      route('GET /empty', { auth: 'service', scopes: [], handle: () => ({}) }),
      route('GET /reports', { auth: 'service', scopes: ['reports'], handle: () => ({}) }),
      route('GET /audits', { auth: 'service', scopes: ['reports', 'audits:read'], handle: () => ({}) }),
    ],
  })
})
after(() => app.close())

const get = (path: string, holder: Holder) => app.call(path, { method: 'GET', token: secrets[holder] })

describe('A service token', () => {
  for (const [path, allowed, missing] of [
    ['/api/status', ['plain', 'all'], 'status'],
    ['/metrics', ['plain', 'all'], 'metrics'],
    ['/api/plain', ['plain', 'all'], 'routes'],
    ['/api/empty', ['plain', 'all'], 'routes'],
    ['/ops/live', ['oncall', 'all'], 'ops'],
    ['/api/reports', ['reporter', 'all'], 'reports'],
  ] as const) {
    test(`opens ${path} if and only if it has the scope ${missing}, which the 403 names`, async () => {
      for (const holder of Object.keys(HOLDERS) as Holder[]) {
        const { status, body, headers } = await get(path, holder)
        if ((allowed as readonly Holder[]).includes(holder)) {
          assert.equal(status, 200, holder)
          continue
        }
        assert.deepEqual(
          [status, body.reason, body.error],
          [403, 'insufficient_scope', `The service token lacks the scope "${missing}".`],
          holder,
        )
        assert.equal(
          headers.get('www-authenticate'),
          `Bearer realm="service", error="insufficient_scope", scope="${missing}"`,
        )
      }
    })
  }

  test('needs every scope of a route: the challenge has them all, the sentence those that are missing', async () => {
    assert.equal((await get('/api/audits', 'reporter')).status, 200)
    const { status, body, headers } = await get('/api/audits', 'plain')
    assert.equal(status, 403)
    assert.equal(body.error, 'The service token lacks the scopes "reports" and "audits:read".')
    assert.match(headers.get('www-authenticate') ?? '', / scope="reports audits:read"$/)
  })

  test('sees the checks of /readyz only with the scope status', async () => {
    assert.notEqual((await get('/readyz', 'plain')).body.checks, undefined)
    assert.deepEqual((await get('/readyz', 'gateway')).body, { success: true })
  })

  test('is named in the audit log when a scope is missing', async () => {
    const before = app.audit.length
    await get('/api/status', 'gateway')
    const [event, ...others] = app.audit.slice(before)
    assert.deepEqual(others, [])
    const { event: name, reason, service } = event as Readonly<Record<string, unknown>>
    assert.deepEqual([name, reason, service], ['service.denied', 'insufficient_scope', 'gateway'])
  })

  test('that is unknown or missing gets 401 on a route with scopes', async () => {
    for (const token of [null, `${secrets.all}x`]) {
      const { status, body } = await app.call('/api/reports', { method: 'GET', token })
      assert.deepEqual([status, body.reason], [401, 'invalid_service_token'])
    }
  })
})
