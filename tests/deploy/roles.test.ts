import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { examineDatabase } from '../../src/adapters/postgres/diagnostics/examine-database.ts'
import { LATCHKEY_MIGRATIONS } from '../../src/adapters/postgres/migration-set.ts'
import { migrate } from '../../src/adapters/postgres/migrations.ts'
import { DEPLOY } from '../support/balancer.ts'
import { createTestDatabase, sqlOn, type TestDatabase } from '../support/database.ts'
import { fencedBlocks } from '../support/fenced-blocks.ts'
import { SERVICE_SECRET, startApp } from '../support/running-app.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

const ROLES = readFileSync(join(DEPLOY, 'roles.sql'), 'utf8')
const [SITE_GRANTS = ''] = fencedBlocks('docs/operations/postgresql.md', 'sql').filter((block) =>
  block.includes('to site'),
)

/** Names of roles that only one test uses. */
type Roles = Readonly<Record<'owner' | 'service' | 'site', string>>

describe('deploy/roles.sql', { skip: postgresAlone }, () => {
  for (const [order, apply] of [
    ['before the first migration', (_: TestDatabase) => {}],
    ['after a superuser applied the migrations', (database: TestDatabase) => migrate(database)],
  ] as const) {
    it(`lets the service do its work without owning a table, run ${order}`, async (t) => {
      const database = await createTestDatabase({ migrated: false })
      const { roles, withRoles, urlOf } = await createRoles(t, database)
      await apply(database)
      await database.sql(withRoles(ROLES))
      await setPasswords(database, roles)
      await migrate({ url: urlOf('owner') })
      for (const table of ['latchkey_migrations', 'latchkey_channel', 'login_attempts_secret'])
        await assert.rejects(sqlOn(urlOf('service'), `delete from ${table}`), { code: '42501' }, table)
      // It can be repeated.
      await database.sql(withRoles(ROLES))
      const url = urlOf('service')
      const settings = { MIGRATE: 'off', LOGIN_LIMIT_ACCOUNT: '2/15m', DATABASE_URL: url }
      const app = await startApp({ database, env: settings })
      try {
        const { email, id } = await app.addCustomer()
        await app.login(email)
        const token = await app.login(email)
        assert.equal((await app.call('/api/me', { token })).status, 200)
        assert.equal((await app.call('/api/logout', { token })).status, 200)
        assert.equal((await app.call('/api/me', { token })).status, 401)
        const guess = () => app.call('/api/login', { body: { email, password: 'incorrect horse' } })
        assert.deepEqual(
          [(await guess()).status, (await guess()).status, (await guess()).status],
          [401, 401, 429],
        )
        const ready = () => app.call('/readyz', { method: 'GET', token: SERVICE_SECRET })
        await until(async () => (await ready()).body.checks?.invalidations === 'ok')
        assert.equal((await ready()).status, 200)
        const { customers, tokens, deadline } = app.service.useCases
        assert.ok((await tokens.prune(0, deadline)) > 0)
        for (const { prune } of app.service.database.prunables ?? []) await prune(10, 1000)
        assert.equal(await customers.disable(id, deadline()), 0)
        assert.equal(await customers.delete(id, deadline()), true)

        const site = await siteChangesRows(database, { roles, withRoles, urlOf })
        const other = await app.addCustomer()
        const valid = await app.login(other.email)
        assert.equal((await app.call('/api/me', { token: valid })).status, 200)
        await site(`update login_tokens set revoked_at = now() where customer_id = '${other.id}'`)
        await until(async () => (await app.call('/api/me', { token: valid })).status === 401)
        const last = await app.login(other.email)
        assert.equal((await app.call('/api/me', { token: last })).status, 200)
        await site(`delete from customers where id = '${other.id}'`)
        await until(async () => (await app.call('/api/me', { token: last })).status === 401)
        for (const statement of ['select from login_attempts', 'select from latchkey_migrations'])
          await assert.rejects(site(statement), { code: '42501' })
      } finally {
        await app.close()
      }
      const findings = await examineDatabase({
        url,
        directUrl: url,
        sets: [LATCHKEY_MIGRATIONS],
        prepared: true,
        migrate: 'off',
        connections: 12,
        bcryptCost: 4,
      })
      assert.deepEqual(
        findings.filter(({ state }) => state !== 'ok'),
        [],
      )
      for (const statement of [
        'drop table login_tokens',
        'alter table customers disable trigger publish_update',
        'drop trigger publish_update on login_tokens',
        'create or replace function latchkey_publish_truncation() returns trigger language plpgsql as $$ begin return null; end $$',
        'truncate customers cascade',
        'create table own ()',
        'delete from latchkey_migrations',
        'select name from latchkey_channel',
        "update latchkey_channel set name = 'x'",
        'delete from login_attempts_secret',
        "set session_replication_role = 'replica'",
      ])
        await assert.rejects(sqlOn(url, statement), { code: '42501' }, statement)
    })
  }
})

/** Grants the site's role what the documentation says, and returns a function that runs its statements. */
async function siteChangesRows(
  database: TestDatabase,
  { roles, withRoles, urlOf }: Awaited<ReturnType<typeof createRoles>>,
) {
  await database.sql(`create role ${roles.site} login password 'secret'`)
  await database.sql(withRoles(SITE_GRANTS))
  return (statement: string) => sqlOn(urlOf('site'), statement)
}

async function createRoles(t: TestContext, database: TestDatabase) {
  const suffix = randomBytes(6).toString('hex')
  const roles: Roles = { owner: `owner_${suffix}`, service: `service_${suffix}`, site: `site_${suffix}` }
  t.after(async () => {
    await database.drop()
    for (const role of Object.values(roles))
      await sqlOn(process.env.TEST_DATABASE_URL ?? '', `drop role if exists ${role}`)
  })
  const name = new URL(database.url).pathname.slice(1)
  return {
    roles,
    withRoles: (sql: string) =>
      sql
        .replaceAll(/\bdatabase latchkey\b/g, `database ${name}`)
        .replaceAll(/\blatchkey_owner\b/g, roles.owner)
        .replaceAll(/\blatchkey\b/g, roles.service)
        .replaceAll(/\bsite\b/g, roles.site),
    urlOf(role: keyof Roles) {
      const url = new URL(database.url)
      url.username = roles[role]
      url.password = 'secret'
      return url.href
    },
  }
}

async function setPasswords(database: TestDatabase, { owner, service }: Roles): Promise<void> {
  for (const role of [owner, service]) await database.sql(`alter role ${role} password 'secret'`)
}
