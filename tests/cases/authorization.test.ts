import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as v from 'valibot'
import { route } from '../../src/adapters/http/routing/route.ts'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { sendRaw } from '../support/raw-http.ts'
import { PASSWORD, type RunningApp, startApp } from '../support/running-app.ts'

let app: RunningApp
let token: string
let handled = 0
before(async () => {
  app = await startApp({
    routes: () => [
      route('POST /orders', {
        auth: 'customer',
        abilities: ['orders:write'],
        body: v.object({ sku: v.string() }),
        handle: () => ({ handled: ++handled }),
      }),
    ],
  })
  await app.addCustomer({ email: 'ana@example.com' })
  token = await app.login('ana@example.com')
})
after(() => app.close())

async function me(lines: string) {
  const bytes = `POST /api/me HTTP/1.1\r\nHost: a\r\n${lines}\r\n\r\n`
  return (await sendRaw(app.port, bytes, { responses: 1 })).responses[0]
}

describe('the Authorization header', () => {
  // Public case 001
  test('may have blanks around the token', async () => {
    for (const line of [
      `Authorization: Bearer  ${token}`,
      `Authorization: Bearer ${token} \t`,
      `Authorization:Bearer ${token}`,
    ]) {
      assert.equal((await me(line))?.status, 200, line)
    }
  })

  // Public case 002
  test('has a case-insensitive scheme and a case-sensitive token', async () => {
    assert.equal((await me(`authorization: bearer ${token}`))?.status, 200)
    assert.equal((await me(`Authorization: BEARER ${token}`))?.status, 200)
    assert.equal((await me(`Authorization: Bearer LK${token.slice(2)}`))?.status, 401)
  })

  // Public case 004, case 005, case 011
  test('gets the same 401 for every malformed token, and no error is logged', async () => {
    const other = tokenSecrets({ prefix: 'other' }).issue().secret
    const texts = [
      `"${token}"`,
      `"${token}`,
      'lk_',
      `_${token.slice(3)}`,
      `${token}_extra`,
      '1|abc',
      'lk',
      'lkabc',
      '_',
      'lk__',
      other,
      token.slice(3),
    ]
    for (let n = 1; n <= 80; n++) texts.push(`lk_${'a'.repeat(n)}`, 'a'.repeat(n))
    const seen = new Set<string>()
    for (const text of texts) {
      const { status, body } = await app.call('/api/me', { token: text, headers: { 'X-Request-Id': 'same' } })
      seen.add(`${status} ${JSON.stringify(body)}`)
    }
    assert.deepEqual(
      [...seen].map((response) => response.slice(0, 3)),
      ['401'],
    )
    assert.equal(
      app.logLines.some((line) => line.includes('"level":"error"')),
      false,
    )
  })

  // Public case 007
  test('is refused if sent twice, even if one or both are valid', async () => {
    for (const [first, second] of [
      [token, 'x'],
      ['x', token],
      [token, token],
    ]) {
      assert.equal(
        (await me(`Authorization: Bearer ${first}\r\nAuthorization: Bearer ${second}`))?.status,
        400,
      )
    }
  })

  // Public case 008
  test('is ignored by a login', async () => {
    const { email } = await app.addCustomer()
    const revoked = await app.login(email)
    await app.call('/api/logout', { token: revoked })
    for (const Authorization of [`Bearer ${revoked}`, 'Basic Zm9vOmJhcg==', 'Bearer null', 'Bearer']) {
      const { status } = await app.call('/api/login', {
        body: { email, password: PASSWORD },
        headers: { Authorization },
      })
      assert.equal(status, 200, Authorization)
    }
  })

  // Public case 009, case 010
  test('with an invalid token gets 401 before the body is parsed, and the handler is not called', async () => {
    for (const presented of ['Token', '']) {
      const headers = { Authorization: `Bearer ${presented}` }
      assert.equal((await app.call('/api/orders', { body: { sku: 'a' }, headers })).status, 401)
      assert.equal((await app.call('/api/orders', { body: '{', headers })).status, 401)
    }
    assert.equal(handled, 0)
  })

  // Public case 088
  test('is distinguished as missing or invalid, and tokens elsewhere in the request are ignored', async () => {
    const none = await app.call('/api/me')
    const wrong = await app.call('/api/me', { token: 'x' })
    assert.deepEqual([none.status, none.body.reason], [401, 'missing_token'])
    assert.deepEqual([wrong.status, wrong.body.reason], [401, 'invalid_token'])
    for (const { headers } of [none, wrong]) assert.match(headers.get('www-authenticate') ?? '', /^Bearer /)
    const elsewhere = await app.call(`/api/me?token=${token}&access_token=${token}`, {
      body: { token, access_token: token },
      headers: { 'X-Authorization': `Bearer ${token}`, 'X-API-KEY': token, Cookie: `token=${token}` },
    })
    assert.deepEqual([elsewhere.status, elsewhere.body.reason], [401, 'missing_token'])
  })
})
