import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import * as v from 'valibot'
import { route } from '../src/adapters/http/route.ts'
import { tokenSecrets } from '../src/adapters/node-crypto/token-secrets.ts'
import { sendRaw } from './support/raw-http.ts'
import { PASSWORD, type RunningApp, SERVICE_SECRET, startApp } from './support/running-app.ts'
import { openTcpProxy } from './support/tcp-proxy.ts'

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
      route('GET /reports', { auth: 'customer', abilities: ['orders:read'], handle: () => ({}) }),
    ],
  })
  await app.addCustomer({ email: 'ana@example.com' })
  token = await app.login('ana@example.com')
})
after(() => app.close())

const me = async (lines: string) => (await raw(`POST /api/me HTTP/1.1\r\nHost: a\r\n${lines}\r\n\r\n`))[0]
const raw = async (bytes: string | Buffer) => (await sendRaw(app.port, bytes, { answers: 1 })).answers
const login = async (body: unknown, headers: Record<string, string> = {}) =>
  (await app.call('/api/login', { body, headers })).status
const loginBytes = async (body: Buffer, headers = 'Content-Type: application/json') => {
  const head = `POST /api/login HTTP/1.1\r\nHost: a\r\n${headers}\r\nContent-Length: ${body.length}\r\n\r\n`
  return (await raw(Buffer.concat([Buffer.from(head), body])))[0]?.status
}

/** A token of Ana's with these abilities, put in the table by hand. */
async function handmade(abilities: readonly string[], expires = 'null'): Promise<string> {
  const { secret, digest } = tokenSecrets({ prefix: 'lk' }).issue()
  await app.database.sql(
    `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, expires_at)
     select gen_random_uuid(), id, 'bot', decode($1, 'hex'), $2, now(), ${expires}
     from customers where email = 'ana@example.com'`,
    [digest, abilities],
  )
  return secret
}

async function withHash(email: string, hash: string | null): Promise<void> {
  await app.addCustomer({ email })
  await app.database.sql('update customers set password_hash = $2 where email = $1', [email, hash])
}

describe('the Authorization header', () => {
  test('case 001: blanks around the token do not count', async () => {
    for (const line of [
      `Authorization: Bearer  ${token}`,
      `Authorization: Bearer ${token} \t`,
      `Authorization:Bearer ${token}`,
    ]) {
      assert.equal((await me(line))?.status, 200, line)
    }
  })

  test('case 002: the scheme is read in any case, the token is not', async () => {
    assert.equal((await me(`authorization: bearer ${token}`))?.status, 200)
    assert.equal((await me(`Authorization: BEARER ${token}`))?.status, 200)
    assert.equal((await me(`Authorization: Bearer LK${token.slice(2)}`))?.status, 401)
  })

  test('cases 004, 005 and 011: whatever is no token is 401, the same each time, and no error', async () => {
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
      [...seen].map((answer) => answer.slice(0, 3)),
      ['401'],
    )
    assert.equal(
      app.logLines.some((line) => line.includes('"level":"error"')),
      false,
    )
  })

  test('case 007: two lines are refused on any route, whichever is good', async () => {
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

  test('case 008: a login does not look at it', async () => {
    for (const Authorization of [`Bearer ${await handmade([])}`, 'Basic Zm9vOmJhcg==', 'Bearer null']) {
      const { email } = await app.addCustomer()
      assert.equal(await login({ email, password: PASSWORD }, { Authorization }), 200)
    }
  })

  test('cases 009 and 010: a bad token is 401 before the body is looked at, and the handler is not called', async () => {
    for (const presented of ['Token', '']) {
      const headers = { Authorization: `Bearer ${presented}` }
      assert.equal((await app.call('/api/orders', { body: { sku: 'a' }, headers })).status, 401)
      assert.equal((await app.call('/api/orders', { body: '{', headers })).status, 401)
    }
    assert.equal(handled, 0)
  })

  test('case 088: none and a wrong one are told apart, and no other place is read', async () => {
    assert.equal((await app.call('/api/me')).body.reason, 'missing_token')
    assert.equal((await app.call('/api/me', { token: 'x' })).body.reason, 'invalid_token')
    const elsewhere = await app.call(`/api/me?token=${token}`, {
      body: { token },
      headers: { 'X-Authorization': `Bearer ${token}` },
    })
    assert.deepEqual([elsewhere.status, elsewhere.body.reason], [401, 'missing_token'])
  })
})

describe('a body', () => {
  test('case 013: of another type is 415 and says what to send', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'text/plain']) {
      const { status, body, headers } = await app.call('/api/login', {
        body: 'email=ana',
        headers: { 'Content-Type': type },
      })
      assert.deepEqual([status, headers.get('accept')], [415, 'application/json'])
      assert.match(body.error, /application\/json/)
    }
  })

  test('case 014: of the wrong kinds is 422 and names the field', async () => {
    for (const body of [
      { email: ['ana@example.com'], password: 'x' },
      { email: { $ne: null }, password: { $ne: null } },
      { email: null, password: null },
      [],
      'x',
      7,
      null,
    ]) {
      const { status, body: answer } = await app.call('/api/login', { body: JSON.stringify(body) })
      assert.equal(status, 422)
      assert.ok(Object.keys(answer.errors).every((field) => ['email', 'password', 'body'].includes(field)))
    }
  })

  test('case 017: that is not JSON is 400 and is not repeated; of two equal names the last counts', async () => {
    const good = `"email":"ana@example.com","password":"${PASSWORD}"`
    for (const body of [
      '{"email":"secret@example.com",}',
      '{email:"secret"}',
      "{'email':'secret'}",
      '{"email":"secret"',
      `{${good}}secret`,
    ]) {
      const { status, body: answer } = await app.call('/api/login', { body })
      assert.equal(status, 400, body)
      assert.equal(JSON.stringify(answer).includes('secret'), false)
    }
    const { email } = await app.addCustomer()
    assert.equal(await login(`{"email":"x","email":"${email}","password":"${PASSWORD}"}`), 200)
  })

  test('cases 030, 031 and 033: in another charset or coding is refused, never taken for a wrong password', async () => {
    const latin = Buffer.from('{"email":"ana@example.com","password":"contrase\xf1a 9"}', 'latin1')
    assert.equal(await loginBytes(latin, 'Content-Type: application/json; charset=iso-8859-1'), 415)
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

  test('case 032: with a NUL in the e-mail is 422', async () => {
    for (const email of ['ana\u0000@example.com', 'ana@example.com\u0000'])
      assert.equal(await login({ email, password: 'x' }), 422)
  })
})

describe('customers from elsewhere', () => {
  const SAME = '04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'

  test('case 025: log in with the e-mail in any case; me shows it as it is stored', async () => {
    await app.addCustomer({ email: 'Ana.Ruiz@Example.COM' })
    for (const email of ['ana.ruiz@example.com', 'ANA.RUIZ@EXAMPLE.COM', 'Ana.Ruiz@Example.COM']) {
      const { body } = await app.call('/api/login', { body: { email, password: PASSWORD } })
      assert.equal(
        (await app.call('/api/me', { token: body.token })).body.customer.email,
        'Ana.Ruiz@Example.COM',
      )
    }
  })

  test('case 027: log in with any e-mail that could be stored', async () => {
    for (const email of [
      "o'hara@example.com",
      'jean@xn--mnchen-3ya.example',
      'bob@localhost',
      'ñandu@example.com',
    ]) {
      await app.addCustomer({ email })
      assert.equal(await login({ email, password: PASSWORD }), 200, email)
    }
  })

  test('case 028: a password keeps its blanks', async () => {
    await withHash('blank@example.com', '$2y$04$abcdefghijklmnopqrstuui.ptP7RN6GmuQ5A5kQERWyZLUDKJdcK')
    assert.equal(await login({ email: 'blank@example.com', password: ' hunter2 ' }), 200)
    assert.equal(await login({ email: 'blank@example.com', password: 'hunter2' }), 401)
  })

  test('cases 057 and 063: hashes of $2a$, $2b$ and $2y$ are good, of long passwords too', async () => {
    for (const version of ['$2a$', '$2b$', '$2y$']) {
      await withHash(`v${version.slice(1, 3)}@example.com`, version + SAME)
      assert.equal(
        await login({ email: `v${version.slice(1, 3)}@example.com`, password: 'correct horse 9' }),
        200,
      )
    }
    await withHash('long@example.com', '$2y$04$abcdefghijklmnopqrstuuNt.0ah97gHY3F7JC1Z6EXmQc0bQBhIO')
    assert.equal(await login({ email: 'long@example.com', password: 'p'.repeat(100) }), 200)
  })

  test('cases 058, 060 and 061: a hash that is not whole is an ordinary 401', async () => {
    const hashes = [
      `$2x$${SAME}`,
      `$2$${SAME}`,
      '$1$abc',
      '5f4dcc3b5aa765d61d8327deb882cf99',
      '$argon2id$v=19$m=1',
      '',
      null,
      `$2b$${SAME}`.slice(0, 59),
      `$2b$${SAME} `,
      ` $2b$${SAME}`,
      `"$2b$${SAME}"`,
    ]
    for (const [i, hash] of hashes.entries()) {
      await withHash(`damaged-${i}@example.com`, hash)
      assert.equal(
        await login({ email: `damaged-${i}@example.com`, password: 'correct horse 9' }),
        401,
        `${hash}`,
      )
    }
  })
})

describe('a token', () => {
  test('case 035: two thousand are all found again', async () => {
    const secrets = await Promise.all(
      Array.from({ length: 2000 }, () => tokenSecrets({ prefix: 'lk' }).issue()),
    )
    await app.database.sql(
      `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
       select gen_random_uuid(), c.id, 'bot', decode(d, 'hex'), '{}', now()
       from customers c, unnest($1::text[]) d where c.email = 'ana@example.com'`,
      [secrets.map(({ digest }) => digest)],
    )
    for (let i = 0; i < secrets.length; i += 50) {
      const answers = await Promise.all(
        secrets.slice(i, i + 50).map(({ secret }) => app.call('/api/me', { token: secret })),
      )
      assert.ok(answers.every(({ status }) => status === 200))
    }
  })

  test('case 040: with a name survives logouts and logins, and cannot log out', async () => {
    const named = await handmade(['*'])
    const { status } = await app.call('/api/logout', { token: await app.login('ana@example.com') })
    assert.equal(status, 200)
    await app.login('ana@example.com')
    token = await app.login('ana@example.com')
    assert.equal((await app.call('/api/me', { token: named })).status, 200)
    assert.equal((await app.call('/api/logout', { token: named })).status, 403)
    assert.equal((await app.call('/api/me', { token: named })).status, 200)
  })

  test('cases 041 and 048: abilities are compared exactly, from the database and from the cache alike', async () => {
    const many = Array.from({ length: 5000 }, (_, i) => `a${i}:read`)
    for (const [abilities, status] of [
      [[], 403],
      [['*'], 200],
      [['orders:read'], 200],
      [['Orders:Read'], 403],
      [['orders:*'], 200],
      [['orders'], 403],
      [['orders:reader'], 403],
      [many, 403],
      [[...many, 'orders:read'], 200],
    ] as const) {
      const named = await handmade(abilities)
      for (let i = 0; i < 2; i++)
        assert.equal((await app.call('/api/reports', { method: 'GET', token: named })).status, status)
    }
    assert.equal((await app.call('/api/me', { token: SERVICE_SECRET })).status, 401)
    assert.equal((await app.call('/api/status', { method: 'GET', token })).status, 401)
  })

  test('case 051: expires when it was told to at its making, whatever the setting says now', async () => {
    const [late, gone, never] = [
      await handmade([], `now() + interval '1 year'`),
      await handmade([], `now() - interval '1 second'`),
      await handmade([]),
    ]
    for (const TOKEN_TTL of ['1m', '100d']) {
      const other = await startApp({ database: app.database, env: { TOKEN_TTL } })
      const statuses = await Promise.all(
        [late, gone, never].map(async (secret) => (await other.call('/api/me', { token: secret })).status),
      )
      assert.deepEqual(statuses, [200, 401, 200])
      await other.close()
    }
  })

  test('case 056: of a text and a hash written by hand is good', async () => {
    await app.database.sql(
      `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
       select gen_random_uuid(), id, 'golden', decode('d9c73349611964df0f866878883716ed54adfd765e9bac1d509ef00a89150160', 'hex'), '{}', now()
       from customers where email = 'ana@example.com'`,
    )
    assert.equal(
      (await app.call('/api/me', { token: 'lk_0123456789ABCDEFGHIJabcdefghijKLMNOPQRST2m5ATr' })).status,
      200,
    )
  })

  test('case 073: of a customer who is deleted by SQL is 401, cached or not', async () => {
    const { email, id } = await app.addCustomer()
    const secret = await app.login(email)
    await app.call('/api/me', { token: secret })
    await app.database.sql('delete from customers where id = $1', [id])
    const logout = await app.call('/api/logout', { token: secret })
    assert.equal(logout.status, 401)
    await sleep(1000)
    assert.equal((await app.call('/api/me', { token: secret })).status, 401)
    assert.deepEqual(await app.database.sql('select from login_tokens where customer_id = $1', [id]), [])
  })
})

describe('the cache', () => {
  test('cases 046 and 049: off, nothing is kept; full, everything is still served', async (t) => {
    const off = await startApp({ database: app.database, env: { TOKEN_CACHE_TTL: '0s' } })
    t.after(() => off.close())
    const secret = await handmade([])
    assert.equal((await off.call('/api/me', { token: secret })).status, 200)
    await app.database.sql(
      `update login_tokens set revoked_at = now() where token_hash = sha256(convert_to($1, 'UTF8'))`,
      [secret],
    )
    assert.equal((await off.call('/api/me', { token: secret })).status, 401)

    const small = await startApp({ database: app.database, env: { TOKEN_CACHE_MAX: '100' } })
    t.after(() => small.close())
    const secrets: string[] = []
    // One after another: each takes a connection of its own, and the server has a hundred for all tests.
    while (secrets.length < 101) secrets.push(await handmade([]))
    for (const each of [...secrets, secrets[0] ?? ''])
      assert.equal((await small.call('/api/me', { token: each })).status, 200)
  })
})

describe('an outage', () => {
  test('case 072: a good or unknown token is 503, a wrong checksum or none 401, a login 503', async (t) => {
    const secret = await handmade([])
    const proxy = await openTcpProxy(app.database.url)
    t.after(() => proxy.close())
    const away = await startApp({ database: { ...app.database, url: proxy.url } })
    t.after(async () => {
      proxy.thaw()
      await away.close()
    })
    assert.equal((await away.call('/api/me', { token: await handmade([]) })).status, 200)
    proxy.freeze()
    const unknown = tokenSecrets({ prefix: 'lk' }).issue().secret
    for (const [presented, status] of [
      [secret, 503],
      [unknown, 503],
      [`${secret.slice(0, -1)}!`, 401],
      [null, 401],
    ] as const) {
      assert.equal((await away.call('/api/me', { token: presented })).status, status)
    }
    const body = { email: 'ana@example.com', password: PASSWORD }
    assert.equal((await away.call('/api/login', { body })).status, 503)
  })
})
