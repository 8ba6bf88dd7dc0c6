import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { bcryptPasswordHasher } from '../../src/adapters/bcrypt/password-hasher.ts'
import { PASSWORD, type RunningApp, startApp } from '../support/running-app.ts'

let app: RunningApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const login = async (body: unknown) => (await app.call('/api/login', { body })).status

async function withHash(email: string, hash: string | null): Promise<void> {
  await app.addCustomer({ email })
  await app.database.sql('update customers set password_hash = $2 where email = $1', [email, hash])
}

async function findStoredHash(email: string): Promise<string> {
  const [row] = await app.database.sql('select password_hash from customers where email = $1', [email])
  return `${row?.password_hash}`
}

const hashOfCost = (cost: number) => bcryptPasswordHasher({ cost }).hash(PASSWORD)

describe('imported customers', () => {
  const SAME = '04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'

  // Public case 025
  test('log in with the e-mail in any case, and me returns it as stored', async () => {
    await app.addCustomer({ email: 'Ana.Ruiz@Example.COM' })
    for (const email of ['ana.ruiz@example.com', 'ANA.RUIZ@EXAMPLE.COM', 'Ana.Ruiz@Example.COM']) {
      const { body } = await app.call('/api/login', { body: { email, password: PASSWORD } })
      assert.equal(
        (await app.call('/api/me', { token: body.token })).body.customer.email,
        'Ana.Ruiz@Example.COM',
      )
    }
  })

  // Public case 027
  test('log in with any valid e-mail', async () => {
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

  // Public case 028
  test('log in only with the blanks of their password', async () => {
    await withHash('blank@example.com', '$2y$04$abcdefghijklmnopqrstuui.ptP7RN6GmuQ5A5kQERWyZLUDKJdcK')
    assert.equal(await login({ email: 'blank@example.com', password: ' hunter2 ' }), 200)
    assert.equal(await login({ email: 'blank@example.com', password: 'hunter2' }), 401)
    assert.equal(await login({ email: 'blank@example.com', password: '     ' }), 401)
  })

  // Public case 057, case 063
  test('log in with hashes of $2a$, $2b$ and $2y$, even of long passwords', async () => {
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

  // Public case 058, case 060
  test('get an ordinary 401 for a damaged hash, which is logged in one warning', async () => {
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
      `$2b$${SAME}\r`,
      ` $2b$${SAME}`,
      `"$2b$${SAME}"`,
    ]
    for (const [i, hash] of hashes.entries()) {
      await withHash(`damaged-${i}@example.com`, hash)
      const before = app.logLines.length
      assert.equal(
        await login({ email: `damaged-${i}@example.com`, password: 'correct horse 9' }),
        401,
        `${hash}`,
      )
      const warnings = app.logLines.slice(before).filter((line) => line.includes('"level":"warn"'))
      assert.equal(warnings.length, hash === null ? 0 : 1, `${hash}`)
      for (const warning of warnings) {
        assert.equal(JSON.parse(warning).event, 'password.damaged')
        assert.doesNotMatch(warning, /@example|\$[12]|5f4dcc|argon2/)
      }
    }
  })

  // Public case 066
  test('get a hash of low cost renewed by parallel logins, but not by a wrong password', async (t) => {
    const costly = await startApp({ database: app.database, env: { BCRYPT_COST: '11' } })
    t.after(() => costly.close())
    const email = 'cheap@example.com'
    const hash = '$2y$10$abcdefghijklmnopqrstuuG9vgRxibBkoVPvz73E3.IaYK../N/AO'
    await withHash(email, hash)
    const status = async (password: string) =>
      (await costly.call('/api/login', { body: { email, password } })).status
    assert.equal(await status('wrong horse 9'), 401)
    assert.equal(await findStoredHash(email), hash)
    assert.deepEqual(
      await Promise.all(['correct horse 9', 'correct horse 9', 'wrong horse 9'].map(status)),
      [200, 200, 401],
    )
    const renewed = await findStoredHash(email)
    assert.match(renewed, /^\$2b\$11\$/)
    assert.equal(await status('correct horse 9'), 200)
    assert.equal(await status('wrong horse 9'), 401)
    assert.equal(await findStoredHash(email), renewed)
  })

  // Public case 066
  test('get a hash of another version or cost renewed, but not a current one', async () => {
    for (const hash of [`$2y$${SAME}`, `$2a$${SAME}`, await hashOfCost(5)]) {
      const email = `dated-${hash.slice(1, 6)}@example.com`
      await withHash(email, hash)
      assert.equal(await login({ email, password: PASSWORD }), 200)
      const renewed = await findStoredHash(email)
      assert.match(renewed, /^\$2b\$04\$/)
      assert.equal(await login({ email, password: PASSWORD }), 200)
      assert.equal(await findStoredHash(email), renewed)
    }
    await withHash('sound@example.com', `$2b$${SAME}`)
    assert.equal(await login({ email: 'sound@example.com', password: PASSWORD }), 200)
    assert.equal(await findStoredHash('sound@example.com'), `$2b$${SAME}`)
  })

  // Public case 066
  test('log in with a password of 100 bytes after its hash was renewed', async () => {
    const email = 'long-dated@example.com'
    await withHash(email, '$2y$04$abcdefghijklmnopqrstuuNt.0ah97gHY3F7JC1Z6EXmQc0bQBhIO')
    assert.equal(await login({ email, password: 'p'.repeat(100) }), 200)
    assert.match(await findStoredHash(email), /^\$2b\$04\$/)
    assert.equal(await login({ email, password: 'p'.repeat(100) }), 200)
    assert.equal(await login({ email, password: 'p'.repeat(71) }), 401)
  })

  for (const [what, code] of [
    ['the role may not write it', '42501'],
    ['the session is read-only', '25006'],
  ]) {
    // Public case 066
    test(`log in even if their hash cannot be renewed: ${what}`, async (t) => {
      const email = `unchanged-${code}@example.com`
      const hash = `$2y$${SAME}`
      await withHash(email, hash)
      await app.database.sql(`create function refused() returns trigger language plpgsql as
        $$begin raise 'refused' using errcode = '${code}'; end$$`)
      await app.database.sql(
        'create trigger refused before update of password_hash on customers execute function refused()',
      )
      t.after(() => app.database.sql('drop function refused cascade'))
      const { status, body } = await app.call('/api/login', { body: { email, password: PASSWORD } })
      assert.equal(status, 200)
      assert.equal((await app.call('/api/me', { token: body.token })).status, 200)
      assert.equal(await findStoredHash(email), hash)
    })
  }
})
