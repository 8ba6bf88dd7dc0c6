import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import * as v from 'valibot'
import { route } from '../../src/adapters/http/routing/route.ts'
import { sendRaw } from '../support/raw-http.ts'
import { PASSWORD, type RunningApp, startApp } from '../support/running-app.ts'

let app: RunningApp
before(async () => {
  app = await startApp({
    routes: () => [
      route('POST /mirror', {
        auth: 'none',
        body: v.looseObject({ sku: v.string() }),
        handle: ({ body }) => ({
          names: Object.keys(body),
          // The ways in which a handler copies or inspects a body.
          copied: 'abilities' in Object.assign({}, body),
          own: 'abilities' in body || 'isAdmin' in body,
        }),
      }),
    ],
  })
  await app.addCustomer({ email: 'ana@example.com' })
})
after(() => app.close())

const login = async (body: unknown) => (await app.call('/api/login', { body })).status
const loginBytes = async (body: Buffer, headers = 'Content-Type: application/json') => {
  const head = `POST /api/login HTTP/1.1\r\nHost: a\r\n${headers}\r\nContent-Length: ${body.length}\r\n\r\n`
  const { responses } = await sendRaw(app.port, Buffer.concat([Buffer.from(head), body]), { responses: 1 })
  return responses[0]?.status
}

describe('a body', () => {
  // Public case 012
  test('is optional for me and logout and does not affect them', async () => {
    for (const path of ['/api/me', '/api/logout']) {
      for (const body of [
        'Content-Type: application/json\r\nContent-Length: 0\r\n\r\n',
        'Content-Length: 0\r\n\r\n',
        'Content-Type: application/json\r\n\r\n',
        '\r\n',
        'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        'Content-Type: application/json\r\nContent-Length: 4\r\n\r\nnull',
        'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
        'Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{]\r\n0\r\n\r\n',
      ]) {
        const token = await app.login('ana@example.com')
        const bytes = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n${body}`
        const { responses } = await sendRaw(app.port, bytes, { responses: 1 })
        assert.equal(responses[0]?.status, 200, `${path} ${body}`)
      }
    }
  })

  // Public case 013
  test('of another content type gets 415 and the accepted type', async () => {
    const json = JSON.stringify({ email: 'ana@example.com', password: PASSWORD })
    for (const sent of ['email=ana@example.com&password=x', json]) {
      for (const type of ['application/x-www-form-urlencoded', 'text/plain']) {
        const { status, body, headers } = await app.call('/api/login', {
          body: sent,
          headers: { 'Content-Type': type },
        })
        assert.deepEqual([status, headers.get('accept')], [415, 'application/json'])
        assert.match(body.error, /application\/json/)
      }
      assert.equal(await loginBytes(Buffer.from(sent), 'X-Type: none'), 415)
    }
  })

  // Public case 014
  test('with values of wrong types gets 422 and the field names', async () => {
    for (const body of [
      { email: ['ana@example.com'], password: 'x' },
      { email: { $ne: null }, password: { $ne: null } },
      { email: 'ana@example.com', password: 12345678 },
      { email: 'ana@example.com', password: true },
      { email: null, password: null },
      [],
      'x',
      7,
      null,
    ]) {
      const { status, body: response } = await app.call('/api/login', { body: JSON.stringify(body) })
      assert.equal(status, 422)
      const fields = Object.keys(response.errors)
      assert.ok(fields.length > 0)
      assert.ok(fields.every((field) => ['email', 'password', 'body'].includes(field)))
    }
  })

  // Public case 015
  test('cannot change a prototype or pass values to a handler by one', async () => {
    const good = `"email":"ana@example.com","password":"${PASSWORD}"`
    const poison = '{"abilities":["*"],"isAdmin":true}'
    assert.equal(await login(`{${good},"__proto__":${poison}}`), 200)
    assert.equal(await login(`{"__proto__":{${good}}}`), 422)
    assert.equal(await login(`{"constructor":{"prototype":${poison}},${good}}`), 200)
    for (const name of ['__proto__', 'constructor', 'prototype']) {
      const { status, body } = await app.call('/api/mirror', {
        body: `{"sku":"a","${name}":${name === 'constructor' ? `{"prototype":${poison}}` : poison}}`,
      })
      assert.equal(status, 200)
      assert.deepEqual([body.copied, body.own], [false, false], name)
    }
    assert.equal('abilities' in {} || 'isAdmin' in {}, false)
  })

  // Public case 017
  test('that is not JSON gets 400 without being echoed, and the last of two equal names counts', async () => {
    const good = `"email":"ana@example.com","password":"${PASSWORD}"`
    for (const body of [
      '{"email":"secret@example.com",}',
      '{email:"secret"}',
      "{'email':'secret'}",
      '{"email":"secret"',
      `{${good}}secret`,
    ]) {
      const { status, body: response } = await app.call('/api/login', { body })
      assert.equal(status, 400, body)
      assert.equal(JSON.stringify(response).includes('secret'), false)
    }
    assert.equal(await loginBytes(Buffer.alloc(0)), 400)
    const { email } = await app.addCustomer()
    assert.equal(await login(`{"email":"x","email":"${email}","password":"${PASSWORD}"}`), 200)
  })

  // Public case 030, case 031, case 033
  test('in another charset or coding is refused and does not count as a wrong password', async () => {
    const latin = Buffer.from('{"email":"ana@example.com","password":"contrase\xf1a 9"}', 'latin1')
    assert.equal(await loginBytes(latin, 'Content-Type: application/json; charset=iso-8859-1'), 415)
    for (const text of [
      '{"email":"ana@example.com","password":"\xff\xfeabc"}',
      '{"email":"a\xffna@example.com","password":"abc"}',
    ])
      assert.equal(await loginBytes(Buffer.from(text, 'latin1')), 400, text)
    assert.equal(await loginBytes(latin), 400)
    const plain = Buffer.from(JSON.stringify({ email: 'ana@example.com', password: PASSWORD }))
    for (const [coding, body] of [
      ['utf-8', plain],
      ['gzip', gzipSync(plain)],
      ['gzip', plain],
      ['gzip', gzipSync(Buffer.alloc(10_000_000))],
    ] as const) {
      assert.equal(
        await loginBytes(body, `Content-Type: application/json\r\nContent-Encoding: ${coding}`),
        415,
      )
    }
  })

  // Public case 032
  test('with a NUL in the e-mail gets 422', async () => {
    for (const email of ['ana\u0000@example.com', 'ana@example.com\u0000'])
      assert.equal(await login({ email, password: 'x' }), 422)
  })
})
