import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  type ExaminedDatabase,
  examineDatabase,
} from '../../../../src/adapters/postgres/diagnostics/examine-database.ts'
import { LATCHKEY_MIGRATIONS } from '../../../../src/adapters/postgres/migration-set.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { hasPgBouncer, openPgBouncer } from '../../../support/pgbouncer.ts'
import { HASH } from '../../../support/program-suite.ts'

async function examined(url: string, more: Partial<ExaminedDatabase> = {}) {
  const findings = await examineDatabase({
    url,
    directUrl: url,
    sets: [LATCHKEY_MIGRATIONS],
    prepared: true,
    migrate: 'auto',
    connections: 12,
    bcryptCost: 10,
    ...more,
  })
  const of = (name: string) => findings.find((found) => found.name === `database.${name}`)
  return {
    findings: findings.map(({ name, state }) => `${state} ${name}`),
    state: (name: string) => of(name)?.state,
    message: (name: string) => of(name)?.message ?? '',
    hint: (name: string) => of(name)?.hint,
    facts: (name: string) => of(name)?.facts ?? {},
  }
}

describe('a database that is examined', () => {
  let database: TestDatabase
  before(async () => {
    database = await createTestDatabase()
  })
  after(() => database.drop())

  test('is reported once, without its password, when no server responds', async () => {
    const { findings, message } = await examined('postgres://ana:canary@127.0.0.1:1/none')
    assert.deepEqual(findings, ['failure database.reached'])
    assert.match(
      message('reached'),
      /^The database at 127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED[^\n]*$/,
    )
    assert.doesNotMatch(message('reached'), /canary/)
  })

  test('has its pending migrations reported, and none applied', async (t) => {
    const empty = await createTestDatabase({ migrated: false })
    t.after(() => empty.drop())
    for (const [migrate, expected] of [
      ['auto', 'warning'],
      ['off', 'failure'],
    ] as const) {
      const { state, message } = await examined(empty.url, { migrate })
      assert.deepEqual([state('migrations'), state('passwords')], [expected, 'ok'])
      assert.match(message('migrations'), /0001_/)
    }
    const made = await empty.sql("select from pg_class where relnamespace = 'public'::regnamespace")
    assert.deepEqual(made, [])
  })

  test('may have a clock of its own, and forget commits', async (t) => {
    const sick = await createTestDatabase()
    t.after(() => sick.drop())
    const [{ name } = { name: '' }] = await sick.sql<{ name: string }>('select current_database() as name')
    await sick.sql(`alter database ${name} set synchronous_commit = off`)
    const { now } = Date
    for (const [skewMs, state, expected] of [
      [-90_000, 'warning', /clock is [89]\d{4} ms behind/],
      [90_000, 'warning', /clock is [89]\d{4} ms ahead of/],
    ] as const) {
      const skewed = t.mock.method(Date, 'now', () => now() + skewMs)
      const found = await examined(sick.url)
      skewed.mock.restore()
      assert.equal(found.state('clock'), state)
      assert.match(found.message('clock'), expected)
      assert.equal(found.state('server'), 'failure')
      assert.match(found.message('server'), /synchronous_commit is off/)
    }
  })

  test('has its damaged hashes counted, and those that cost more than configured', async () => {
    const hashes = [
      HASH,
      HASH.replace('$04$', '$10$'),
      HASH.replace('$04$', '$13$'),
      HASH.replace('$2b', '$2y'),
    ]
    const add = (hash: string) =>
      database.sql(
        'insert into customers (id, email, password_hash, created_at) values (gen_random_uuid(), $1, $1, now())',
        [hash],
      )
    for (const hash of hashes) await add(hash)
    assert.deepEqual((await examined(database.url)).facts('passwords'), { checked: 4, damaged: 0, dearer: 1 })
    assert.equal((await examined(database.url, { bcryptCost: 13 })).state('passwords'), 'ok')
    for (const hash of ['$2b$04$broken', `${HASH}x`, HASH.replace('$04$', '$16$')]) await add(hash)
    const { facts, state } = await examined(database.url)
    assert.deepEqual(
      [facts('passwords'), state('passwords')],
      [{ checked: 7, damaged: 3, dearer: 1 }, 'warning'],
    )
  })

  test('may not have the connections that one instance takes', async () => {
    const { facts } = await examined(database.url)
    const most = Number(facts('connections').most)
    assert.equal(facts('connections').instances, Math.floor(most / 12))
    assert.equal((await examined(database.url, { connections: most })).state('connections'), 'ok')
    assert.equal((await examined(database.url, { connections: most + 1 })).state('connections'), 'warning')
  })

  test('is found out behind a transaction pooler', {
    skip: hasPgBouncer() ? false : 'pgbouncer is not on this machine',
  }, async (t) => {
    const pooler = await openPgBouncer(database.url)
    t.after(() => pooler.close())
    const alone = await examined(pooler.url)
    assert.equal(alone.state('link'), 'failure')
    assert.equal(alone.hint('link'), 'Set DATABASE_DIRECT_URL to the address of the server itself.')
    // Newer ones keep them.
    assert.match(alone.message('prepared'), /pooler (keeps|breaks) prepared statements/)
    const besides = await examined(pooler.url, { directUrl: database.url, prepared: false })
    assert.deepEqual([besides.state('direct'), besides.state('link')], ['ok', 'ok'])
    assert.match(besides.message('link'), /through the transaction pooler is received/)
    assert.equal(besides.state('prepared'), undefined)
  })

  test('may differ from the database of the listener connection', async (t) => {
    const elsewhere = await createTestDatabase()
    t.after(() => elsewhere.drop())
    const { state, message } = await examined(database.url, { directUrl: elsewhere.url })
    assert.equal(state('link'), 'failure')
    assert.match(message('link'), /is not received on the listener connection/)
  })
})
