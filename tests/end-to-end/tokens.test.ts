import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Agent, request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import type { Called } from '../../src/testing/call.ts'
import { BUSY_MS, PASSWORD, type RunningApp, SERVICE_SECRET, startApp } from '../support/running-app.ts'
import { onSqlite, postgresAlone, sharedCaches } from '../support/sqlite.ts'

let app: RunningApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

describe('a login token', () => {
  // Public case 036, proof row G7
  test('is the only active one after 64 parallel logins mixed with logouts', async (t) => {
    const rounds = 2
    let repeated = 0
    const { email, id } = await app.addCustomer()
    for (let round = 0; round < rounds; round++) {
      const secrets: string[] = []
      await Promise.all(
        Array.from({ length: 64 }, async (_, i) => {
          const secret = await loginWithRetries(email)
          secrets.push(secret)
          if (i % 4 === 0) await app.call('/api/logout', { token: secret })
        }),
      )
      const last = await app.login(email)
      const alive = await Promise.all(
        [...secrets, last].map(async (token) => (await app.call('/api/me', { token })).status),
      )
      assert.deepEqual(alive, [...Array(64).fill(401), 200])
      const [row] = await app.database.sql<{ alive: string | number }>(
        'select count(*) as alive from login_tokens where customer_id = $1 and revoked_at is null',
        [id],
      )
      assert.equal(Number(row?.alive), 1)
    }
    t.diagnostic(`${rounds} rounds of 64 logins: all succeeded, ${repeated} after a 503; one live token`)

    // On a busy machine a login may wait for the customer's row beyond its deadline.
    async function loginWithRetries(address: string): Promise<string> {
      for (let attempt = 1; attempt <= 500; attempt++) {
        const { status, body } = await app.call('/api/login', {
          body: { email: address, password: PASSWORD },
        })
        if (status === 200) return body.token
        assert.equal(status, 503)
        repeated++
      }
      throw new Error('The login was still refused with 503 after 500 attempts.')
    }
  })

  // Proof row G7b
  test('issued for the old password does not survive a password change or a disable', async (t) => {
    const rounds = 6
    for (let round = 0; round < rounds; round++) {
      const { email, id } = await app.addCustomer()
      const { useCases } = app.service
      const body = { email, password: PASSWORD }
      const logins = Array.from({ length: 8 }, () => app.call('/api/login', { body }))
      await sleep(Math.random() * 8)
      await (round % 2 === 0
        ? useCases.customers.disable(id, useCases.deadline(BUSY_MS))
        : useCases.customers.setPassword(id, { password: 'another horse 9' }, useCases.deadline(BUSY_MS)))
      const responses = await Promise.all(logins)
      // 503 when the machine is busy.
      assert.ok(responses.every(({ status }) => [200, 401, 503].includes(status)))
      for (const { body: issued } of responses.filter(({ status }) => status === 200)) {
        assert.equal((await app.call('/api/me', { token: issued.token })).status, 401)
      }
    }
    t.diagnostic(`${rounds} rounds: 0 live tokens`)
  })

  // Public case 043
  test('is refused on a warm connection right after logout, and after a new login', async (t) => {
    const { email } = await app.addCustomer()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    const sockets = new Set<unknown>()
    const status = (path: string, token: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { Authorization: `Bearer ${token}` }
        request({ port: app.port, path, method: 'POST', headers, agent })
          .on('socket', (socket) => sockets.add(socket))
          .on('response', (response) => response.resume().once('end', () => resolve(response.statusCode)))
          .on('error', reject)
          .end()
      })
    const first = await app.login(email)
    for (let i = 0; i < 100; i++) assert.equal(await status('/api/me', first), 200)
    const second = await app.login(email)
    assert.equal(await status('/api/me', first), 401)
    assert.equal(await status('/api/me', second), 200)
    assert.equal(await status('/api/logout', second), 200)
    assert.equal(await status('/api/me', second), 401)
    assert.equal(sockets.size, 1)
  })

  // Public case 037
  test('can be validated 200 times in parallel while its owner logs in and out, and while its row is locked', {
    skip: postgresAlone,
  }, async (t) => {
    const uncached = await startApp({ database: app.database, env: { TOKEN_CACHE_TTL: '0s' } })
    t.after(() => uncached.close())
    const { email, id } = await app.addCustomer()
    const named = await app.addToken({ id })
    // On a busy machine a request may wait for the database beyond its deadline.
    const isRight = ({ status }: Called) => status === 200 || status === 503
    let isOver = false
    const cycles = (async () => {
      for (let round = 0; round < 8; round++) {
        const login = await uncached.call('/api/login', { body: { email, password: PASSWORD } })
        assert.ok(isRight(login), `${login.status}`)
        if (login.status === 200) await uncached.call('/api/logout', { token: login.body.token })
      }
    })().finally(() => {
      isOver = true
    })
    let served = 0
    while (!isOver) {
      const calls = Array.from({ length: 200 }, () => uncached.call('/api/me', { token: named }))
      const responses = await Promise.all(calls)
      assert.ok(responses.every(isRight))
      served += responses.filter(({ status }) => status === 200).length
    }
    await cycles
    assert.ok(served > 0)

    const holder = new Client({ connectionString: app.database.url })
    await holder.connect()
    t.after(() => holder.end())
    await holder.query('begin')
    await holder.query('select from login_tokens where customer_id = $1 for update', [id])
    await holder.query('select from customers where id = $1 for update', [id])
    // A validation that waited for the lock would time out and return 503.
    for (let i = 0; i < 10; i++) assert.equal((await uncached.call('/api/me', { token: named })).status, 200)
    await holder.query('rollback')
    assert.doesNotMatch(uncached.logLines.join(''), /40P01|"level":"error"/)
    t.diagnostic(`${served} validations beside 8 logins and logouts`)
  })

  // Public case 045
  test('revoked by another program is refused within a second', async () => {
    const { email } = await app.addCustomer()
    const token = await app.login(email)
    assert.equal((await app.call('/api/me', { token })).status, 200)
    await app.database.sql('update login_tokens set revoked_at = created_at where revoked_at is null')
    await sleep(1000)
    assert.equal((await app.call('/api/me', { token })).status, 401)
  })

  test('returns a name in any script as stored', async () => {
    const { email, id } = await app.addCustomer()
    const name = 'Zoë Ωmega 山田 😀'
    await app.database.sql('update customers set name = $2 where id = $1', [id, name])
    const token = await app.login(email)
    for (let use = 0; use < 2; use++) {
      const { status, body } = await app.call('/api/me', { token })
      assert.equal(status, 200)
      assert.equal(body.customer.name, name)
    }
  })

  // Public case 056
  test('with an older prefix stays valid', { skip: sharedCaches }, async () => {
    const { email } = await app.addCustomer()
    const token = await app.login(email)
    const renamed = await startApp({ database: app.database, env: { TOKEN_PREFIX: 'acme' } })
    assert.equal((await renamed.call('/api/me', { token })).status, 200)
    assert.match(await renamed.login(email), /^acme_/)
    await renamed.close()
  })

  test('is stored only as its SHA-256', async () => {
    const { email } = await app.addCustomer()
    const token = await app.login(email)
    const rows = await app.database.sql<{ token_hash: Buffer }>('select * from login_tokens')
    assert.equal(JSON.stringify(rows).includes(token), false)
    const digest = createHash('sha256').update(token).digest('hex')
    assert.ok(rows.some(({ token_hash }) => Buffer.from(token_hash).toString('hex') === digest))
  })
})

describe('a login', () => {
  // Public case 008
  test('ignores the Authorization header', async () => {
    const { email } = await app.addCustomer()
    for (const Authorization of ['Basic Zm9vOmJhcg==', 'Bearer null', 'Bearer']) {
      const { status } = await app.call('/api/login', {
        body: { email, password: PASSWORD },
        headers: { Authorization },
      })
      assert.equal(status, 200)
    }
  })

  // Public case 065
  test('gives the same response for every cause of a refusal', async () => {
    const none = await app.addCustomer()
    const damaged = await app.addCustomer()
    const disabled = await app.addCustomer()
    await app.database.sql('update customers set password_hash = null where id = $1', [none.id])
    await app.database.sql(`update customers set password_hash = '$2b$04$short' where id = $1`, [damaged.id])
    const { useCases } = app.service
    await useCases.customers.disable(disabled.id, useCases.deadline(BUSY_MS))
    const wrong = await app.addCustomer()
    const bodies = [
      { email: 'nobody@example.com', password: PASSWORD },
      { email: wrong.email, password: 'wrong' },
      { email: none.email, password: PASSWORD },
      { email: damaged.email, password: PASSWORD },
      { email: disabled.email, password: PASSWORD },
    ]
    const responses = await Promise.all(
      bodies.map((body) => app.call('/api/login', { body, headers: { 'X-Request-Id': 'same' } })),
    )
    const seen = responses.map(({ status, headers, body }) => {
      const list = [...headers].filter(([name]) => name !== 'date')
      return JSON.stringify({ status, list, body })
    })
    assert.equal(new Set(seen).size, 1)
    assert.equal(responses[0]?.status, 401)
  })

  // Public case 063
  test('accepts a password of more than 72 bytes, because an imported hash may have one', async () => {
    const { id, email } = await app.addCustomer()
    const hash = '$2y$04$abcdefghijklmnopqrstuuNt.0ah97gHY3F7JC1Z6EXmQc0bQBhIO'
    await app.database.sql('update customers set password_hash = $2 where id = $1', [id, hash])
    const status = async (password: string) =>
      (await app.call('/api/login', { body: { email, password } })).status
    assert.equal(await status('p'.repeat(100)), 200)
    assert.equal(await status('p'.repeat(1024)), 200)
    assert.equal(await status('p'.repeat(1025)), 422)
  })
})

// Public case 094, case 096, proof row K1
test('no line of the log holds a secret', async (t) => {
  const secrets = await app.database.sql<{ password_hash: string }>(
    'select password_hash from customers where password_hash is not null',
  )
  const { email } = await app.addCustomer({ password: 'canary-password-1' })
  const token = await app.login(email, 'canary-password-1')
  await app.call('/api/me?token=canary-query-1', { token })
  await app.call('/api/login', { body: { email: 'canary-password-2', password: token } })
  await app.call('/api/login', { body: '{"email":"canary-broken-1' })
  await app.call('/api/status', { method: 'GET', token: SERVICE_SECRET })
  await app.database.sql('alter table login_tokens rename column token_hash to renamed')
  assert.equal(
    (await app.call('/api/me', { token: tokenSecrets({ prefix: 'lk' }).issue().secret })).status,
    500,
  )
  await app.database.sql('alter table login_tokens rename column renamed to token_hash')
  const log = [...app.logLines, ...app.auditLines].join('')
  assert.match(log, /request\.failed[\s\S]*login\.failed/)
  const canaries = [
    token,
    token.slice(0, 12),
    PASSWORD,
    SERVICE_SECRET,
    'canary-',
    onSqlite ? '' : new URL(app.database.url).password,
    '$2',
    ...secrets.map((row) => row.password_hash),
  ]
  const found = canaries.filter((canary) => canary !== '' && log.includes(canary))
  assert.deepEqual(found, [])
  t.diagnostic(`${canaries.length} canaries, ${app.logLines.length} lines, 0 found`)
})
