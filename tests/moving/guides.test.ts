import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { createTestDatabase, sqlOn } from '../support/database.ts'
import { assertShown, block, MOVING_GUIDES, unusedBlocks } from '../support/documented-blocks.ts'
import { startApp } from '../support/running-app.ts'
import { shellCommand, startProcess, temporaryFolder } from '../support/running-process.ts'
import { fill } from './support.ts'

const guide = (name: string) => `docs/how-to/${name}.md`
const sha256 = (text: string) => createHash('sha256').update(text)

async function paste(commands: string, cwd: string, env: Record<string, string>) {
  const input = commands.replaceAll('npx latchkey', shellCommand())
  const done = await startProcess('sh', ['-eu'], { cwd, env, input }).ended
  assert.deepEqual([done.code, done.stderr], [0, ''], commands)
  return done.stdout
}

test('the guide to backups writes a file and restores it', async (t) => {
  const folder = await temporaryFolder()
  t.after(folder.remove)
  const database = await createTestDatabase()
  t.after(() => database.drop())
  await fill(database.url, 3)
  const page = guide('back-up-and-restore')
  const written = await paste(block(page, 'sh', 0), folder.path, { ...database.env })
  await database.sql('delete from customers')
  const restored = await paste(block(page, 'sh', 1), folder.path, { ...database.env })
  assertShown(written + restored, block(page, 'text'))
  assert.equal((await database.sql('select from login_tokens')).length, 30)
})

test('the guide to moving leads from the embedded database to a server and back', async (t) => {
  const folder = await temporaryFolder()
  t.after(folder.remove)
  const server = await createTestDatabase({ migrated: false })
  t.after(() => server.drop())
  const env = { NEW_DATABASE_URL: server.url }
  const page = guide('move-the-database')
  const hash = '$2b$12$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'
  await paste(`echo '${hash}' | npx latchkey customer add ana@example.com --hash-stdin`, folder.path, {})
  const token = (
    await startProcess('sh', ['-eu'], {
      cwd: folder.path,
      input: `${shellCommand('token', 'create', 'ana@example.com', '--name', 'bot')}`,
    }).ended
  ).stdout.trim()
  await paste(block(page, 'sh', 0), folder.path, env)
  assertShown(await paste(block(page, 'sh', 1), folder.path, env), block(page, 'text'))
  const app = await startApp({ database: server })
  assert.equal((await app.call('/api/me', { token })).status, 200)
  await app.close()
  await server.sql('select 1').catch(() => {})
  const again = await createTestDatabase({ migrated: false })
  t.after(() => again.drop())
  await paste('DATABASE_URL="$NEW_DATABASE_URL" npx latchkey restore move.sql', folder.path, {
    NEW_DATABASE_URL: again.url,
  })
  const back = await paste(block(page, 'sh', 2), folder.path, { NEW_DATABASE_URL: again.url })
  assert.match(back, /Restored \d+ rows/)
  const listed = await paste('npx latchkey token list ana@example.com --json', folder.path, {
    DATA_DIR: './embedded',
  })
  assert.equal(JSON.parse(listed).tokens[0].name, 'bot')
})

/** The tables as the systems publish them, one row, and the header of the client that holds its token. */
const SYSTEMS = {
  sanctum(secret: string) {
    const token = `${secret}${'0'.repeat(8)}`
    return {
      tables: `
        create table users (id bigserial primary key, name varchar(255), email varchar(255) unique, password varchar(255));
        create table personal_access_tokens (id bigserial primary key, tokenable_type varchar(255) not null,
          tokenable_id bigint not null, name varchar(255) not null, token varchar(64) not null unique, abilities text,
          last_used_at timestamp(0), expires_at timestamp(0), created_at timestamp(0), updated_at timestamp(0));
        insert into users (email) values ('ana@example.com');
        insert into personal_access_tokens (id, tokenable_type, tokenable_id, name, token, abilities, created_at)
          values (7, 'App\\Models\\User', 1, 'phone', '${sha256(token).digest('hex')}', '["*"]', now())`,
      authorization: `Bearer 7|${token}`,
    }
  },
  adonisjs(secret: string) {
    const encode = (text: string) => Buffer.from(text).toString('base64url')
    return {
      tables: `
        create table users (id serial primary key, full_name varchar(255), email varchar(254) unique, password varchar(255));
        create table auth_access_tokens (id serial primary key, tokenable_id int not null references users, type varchar(255) not null,
          name varchar(255), hash varchar(255) not null, abilities text not null, created_at timestamptz, updated_at timestamptz,
          last_used_at timestamptz, expires_at timestamptz);
        insert into users (email) values ('ana@example.com');
        insert into auth_access_tokens (id, tokenable_id, type, hash, abilities, created_at)
          values (7, 1, 'auth_token', '${sha256(secret).digest('hex')}', '["*"]', now())`,
      authorization: `Bearer oat_${encode('7')}.${encode(secret)}`,
    }
  },
  'django-rest-framework'(secret: string) {
    return {
      tables: `
        create table auth_user (id serial primary key, username varchar(150) unique, email varchar(254), password varchar(128));
        create table authtoken_token (key varchar(40) primary key, created timestamptz not null, user_id int unique references auth_user);
        insert into auth_user (username, email) values ('ana', 'ana@example.com');
        insert into authtoken_token values ('${secret}', now(), 1)`,
      authorization: `Token ${secret}`,
    }
  },
  'better-auth'(secret: string) {
    return {
      tables: `
        create table "user" (id text primary key, name text, email text unique, "emailVerified" boolean);
        create table apikey (id text primary key, "configId" text, name text, start text, prefix text, key text not null,
          "referenceId" text not null references "user", "refillInterval" int, "refillAmount" int, "lastRefillAt" timestamptz,
          enabled boolean, "rateLimitEnabled" boolean, "requestCount" int, remaining int, "lastRequest" timestamptz,
          "expiresAt" timestamptz, "createdAt" timestamptz not null, "updatedAt" timestamptz not null, permissions text, metadata text);
        insert into "user" values ('u1', 'Ana', 'ana@example.com', true);
        insert into apikey (id, name, key, "referenceId", enabled, "createdAt", "updatedAt")
          values ('k1', 'ci', '${sha256(secret).digest('base64url')}', 'u1', true, now(), now())`,
      authorization: `Bearer ${secret}`,
    }
  },
} as const

describe('the guide to moving from', () => {
  for (const [system, issue] of Object.entries(SYSTEMS))
    test(`${system}: the exported tokens work here`, async (t) => {
      const page = guide(`move-from-${system}`)
      const folder = await temporaryFolder()
      t.after(folder.remove)
      const old = await createTestDatabase({ migrated: false })
      t.after(() => old.drop())
      const { tables, authorization } = issue(randomBytes(20).toString('hex'))
      await sqlOn(old.url, tables)
      const csv = await sqlOn<Record<string, unknown>>(old.url, block(page, 'sql').trim().replace(/;$/, ''))
      const columns = Object.keys(csv[0] as object)
      const text = (value: unknown) => (value instanceof Date ? value.toISOString() : (value ?? ''))
      const lines = [
        columns,
        ...csv.map((row) => columns.map((name) => `"${String(text(row[name])).replaceAll('"', '""')}"`)),
      ]
      writeFileSync(join(folder.path, 'tokens.csv'), lines.map((line) => line.join()).join('\n'))
      const [setting = ''] =
        /FOREIGN_TOKENS=[a-z-]+/.exec((await import('node:fs')).readFileSync(page, 'utf8')) ?? []
      const app = await startApp({ env: { FOREIGN_TOKENS: setting.split('=')[1] as string } })
      t.after(() => app.close())
      await app.addCustomer({ email: 'ana@example.com' })
      const shown = await paste(block(page, 'sh'), folder.path, { ...app.database.env })
      assert.equal(
        shown,
        'Dry run, nothing changed. New: 1, already there: 0, refused: 0.\nImported: 1, already there: 0, refused: 0.\n',
      )
      const response = await fetch(`${app.url}/api/me`, { method: 'POST', headers: { authorization } })
      assert.equal(response.status, 200)
    })
})

after(() => {
  assert.deepEqual(unusedBlocks(MOVING_GUIDES), [], 'blocks without a test')
})
