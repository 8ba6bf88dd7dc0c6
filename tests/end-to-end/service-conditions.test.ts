import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { examineDatabase } from '../../src/adapters/postgres/diagnostics/examine-database.ts'
import { FIND_PROBLEMS } from '../../src/adapters/postgres/diagnostics/service-checks.ts'
import { LATCHKEY_MIGRATIONS } from '../../src/adapters/postgres/migration-set.ts'
import { createTestDatabase, sqlOn, type TestDatabase } from '../support/database.ts'
import { aRequester } from '../support/idle-ports.ts'
import {
  BUSY_MS,
  PASSWORD as CUSTOMER_PASSWORD,
  type RunningApp,
  SERVICE_SECRET,
  startApp,
} from '../support/running-app.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

const PASSWORD = 'of a role for one test file'

describe('a database on which requests fail', { skip: postgresAlone }, () => {
  let database: TestDatabase
  let app: RunningApp
  let role: string
  let url: string
  let name: string
  let email: string

  before(async () => {
    database = await createTestDatabase()
    name = new URL(database.url).pathname.slice(1)
    role = `${name}_service`
    await database.sql(`create role ${role} login password '${PASSWORD}'`)
    await database.sql(`grant all on all tables in schema public to ${role}`)
    await database.sql(`grant execute on all functions in schema public to ${role}`)
    const address = new URL(database.url)
    address.username = role
    address.password = PASSWORD
    url = address.href
    app = await startApp({ database: { ...database, url, env: { DATABASE_URL: url } } })
    email = (await app.addCustomer()).email
    await until(async () => (await readiness()).status === 200)
  })
  after(async () => {
    await app.close()
    await database.sql(`drop owned by ${role}`)
    await database.sql(`drop role ${role}`)
    await database.drop()
  })

  const readiness = () => app.call('/readyz', { method: 'GET', token: SERVICE_SECRET })
  const login = () => app.call('/api/login', { body: { email, password: 'correct horse 9' } })
  // New settings of a role or a database apply only to later connections.
  const reconnect = () =>
    database.sql('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role])
  async function failuresOfDoctor(): Promise<string[]> {
    const findings = await examineDatabase({
      url,
      directUrl: url,
      sets: [LATCHKEY_MIGRATIONS],
      prepared: true,
      migrate: 'off',
      connections: 12,
      bcryptCost: 4,
    })
    return findings.filter(({ state }) => state === 'failure').map((found) => found.name)
  }

  for (const { fault, check, breaks, heals, fails = true } of [
    {
      fault: 'a role without the privilege to read customers',
      check: 'grants',
      breaks: () => `revoke select on customers from ${role}`,
      heals: () => `grant select on customers to ${role}`,
    },
    {
      fault: 'a role without the privilege to insert tokens',
      check: 'grants',
      breaks: () => `revoke insert on login_tokens from ${role}`,
      heals: () => `grant insert on login_tokens to ${role}`,
    },
    {
      fault: 'a role without the privilege to delete one-time tokens',
      check: 'grants',
      breaks: () => `revoke delete on one_time_tokens from ${role}`,
      heals: () => `grant delete on one_time_tokens to ${role}`,
      fails: false,
    },
    {
      fault: 'a table in another schema',
      check: 'schema',
      breaks: () => 'create schema elsewhere; alter table login_tokens set schema elsewhere',
      heals: () => 'alter table elsewhere.login_tokens set schema public; drop schema elsewhere',
    },
    {
      fault: 'a schema that the role may not use',
      check: 'schema',
      breaks: () => 'revoke usage on schema public from public',
      heals: () => 'grant usage on schema public to public',
    },
    {
      fault: 'a role whose transactions are read-only',
      check: 'writable',
      breaks: () => `alter role ${role} set default_transaction_read_only = on`,
      heals: () => `alter role ${role} reset default_transaction_read_only`,
    },
    {
      fault: 'a database whose transactions are read-only',
      check: 'writable',
      breaks: () => `alter database ${name} set default_transaction_read_only = on`,
      heals: () => `begin read write; alter database ${name} reset default_transaction_read_only; commit`,
    },
    {
      fault: 'no unique index of the one login token',
      check: 'indexes',
      breaks: () => 'drop index login_tokens_one_login_key',
      heals: () =>
        `create unique index login_tokens_one_login_key on login_tokens (customer_id)
          where name = 'login' and revoked_at is null`,
      fails: false,
    },
    {
      fault: 'no unique index of the digests',
      check: 'indexes',
      breaks: () => 'alter table login_tokens drop constraint login_tokens_token_hash_key',
      heals: () => 'alter table login_tokens add constraint login_tokens_token_hash_key unique (token_hash)',
      fails: false,
    },
    {
      fault: 'a trigger that does not always fire',
      check: 'triggers',
      breaks: () => 'alter table login_tokens enable trigger publish_update',
      heals: () => 'alter table login_tokens enable always trigger publish_update',
      fails: false,
    },
    {
      fault: 'a disabled trigger',
      check: 'triggers',
      breaks: () => 'alter table customers disable trigger publish_delete',
      heals: () => 'alter table customers enable always trigger publish_delete',
      fails: false,
    },
    {
      fault: 'no unique index of the e-mails',
      check: 'indexes',
      breaks: () => 'drop index customers_email_key',
      heals: () => 'create unique index customers_email_key on customers (lower(email collate "C"))',
      fails: false,
    },
    {
      fault: 'a missing trigger',
      check: 'triggers',
      breaks: () => 'alter trigger publish_delete on login_tokens rename to renamed',
      heals: () => 'alter trigger renamed on login_tokens rename to publish_delete',
      fails: false,
    },
    {
      fault: 'an invalid unique index of the e-mails',
      check: 'indexes',
      breaks: () =>
        "update pg_index set indisvalid = false where indexrelid = 'customers_email_key'::regclass",
      heals: () => "update pg_index set indisvalid = true where indexrelid = 'customers_email_key'::regclass",
      fails: false,
    },
  ])
    test(`is reported by /readyz and doctor and causes 503: ${fault}`, async () => {
      await database.sql(breaks())
      await reconnect()
      await until(async () => {
        const { status, body } = await readiness()
        return status === 503 && body.checks[check] === 'failed'
      })
      if (fails) {
        await until(async () => (await login()).status === 503)
        for (let count = 0; count < 5; count++) assert.equal((await login()).status, 503)
      }
      assert.ok((await failuresOfDoctor()).includes(`database.${check}`))

      await database.sql(heals())
      await reconnect()
      await until(async () => (await readiness()).status === 200)
      await until(async () => (await login()).status === 200)
      assert.deepEqual(await failuresOfDoctor(), [])
    })

  test('logs the cause of each 503 and no bug', () => {
    const countLogLines = (pattern: RegExp) => app.logLines.filter((line) => pattern.test(line)).length
    assert.ok(
      countLogLines(/The role has no select privilege on the table customers\..*"database\.problem"/) > 0,
    )
    assert.ok(countLogLines(/"code":"42501".*"request\.failed"/) > 0)
    assert.equal(countLogLines(/"status":500|"level":"error".*"request\.failed"/), 0)
  })

  test('is reported by /readyz and doctor and causes 503: a role without connections', async () => {
    await database.sql(`alter role ${role} connection limit 0`)
    await reconnect()
    await until(async () => {
      const { status, body } = await readiness()
      return status === 503 && body.checks.database !== 'ok'
    })
    assert.equal((await login()).status, 503)
    assert.deepEqual(await failuresOfDoctor(), ['database.reached'])
    await database.sql(`alter role ${role} connection limit -1`)
    await until(async () => (await readiness()).status === 200)
    await until(async () => (await login()).status === 200)
  })

  test('is reported by doctor when the role has too few connections left', async () => {
    await database.sql(`alter role ${role} connection limit 11`)
    assert.deepEqual(await failuresOfDoctor(), ['database.connections'])
    await database.sql(`alter role ${role} connection limit 0`)
    assert.deepEqual(await failuresOfDoctor(), ['database.reached'])
    await database.sql(`alter role ${role} connection limit -1`)
    assert.deepEqual(await failuresOfDoctor(), [])
  })

  test('serves every request once the role has the privileges that doctor names, and no other', async () => {
    await database.sql(`
      revoke all on all tables in schema public from ${role};
      revoke execute on all functions in schema public from public, ${role};
      grant select on latchkey_migrations to ${role}`)
    await reconnect()
    let granted = 0
    for (const { problem } of await sqlOn<{ problem: string }>(url, FIND_PROBLEMS.text)) {
      const [, privilege, kind, name] =
        /^The role has no (\w+) privilege on the (table|function) (\w+)\.$/.exec(problem) as string[]
      await database.sql(`grant ${privilege} on ${kind} ${name} to ${role}`)
      granted++
    }
    assert.ok(granted > 10)
    await until(async () => (await readiness()).status === 200)

    const { customers, oneTimeTokens, passwords, deadline } = app.service.useCases
    const found = await customers.find(email, deadline(BUSY_MS))
    const token = await app.login(email)
    assert.equal((await app.call('/api/me', { token })).status, 200)
    const change = { current_password: CUSTOMER_PASSWORD, new_password: 'correct horse 10' }
    assert.equal((await app.call('/api/password', { token, body: change })).status, 200)
    const link = { customerId: found?.id ?? '', purpose: 'password-reset', ttlMs: 60_000 }
    await oneTimeTokens.issue(link, deadline(BUSY_MS))
    // The second one replaces the first.
    const issued = await oneTimeTokens.issue(link, deadline(BUSY_MS))
    const reset = { ...link, secret: issued?.secret ?? '', newPassword: CUSTOMER_PASSWORD }
    assert.equal((await passwords.reset(reset, deadline(BUSY_MS), aRequester()))?.id, found?.id)
    const again = await app.login(email)
    assert.equal((await app.call('/api/me', { token })).status, 401)
    assert.equal((await app.call('/api/logout', { token: again })).status, 200)
  })
})
