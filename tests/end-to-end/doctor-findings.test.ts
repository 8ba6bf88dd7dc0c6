import assert from 'node:assert/strict'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openEmbeddedPostgres } from '../../src/adapters/embedded-postgres/open-embedded-postgres.ts'
import { newServiceSecret } from '../../src/adapters/node-crypto/service-secrets.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type Check, createPlace, type Place } from '../support/doctor-place.ts'
import { readTable } from '../support/document.ts'
import { hasPgBouncer, keepsPreparedStatements } from '../support/pgbouncer.ts'
import { HASH } from '../support/program-suite.ts'
import { runLatchkey } from '../support/running-process.ts'
import { openSmallDisk, type SmallDisk } from '../support/small-disk.ts'
import { postgresAlone } from '../support/sqlite.ts'

/** A set-up: its environment beside `DATABASE_URL` of a healthy database and `BCRYPT_COST=10`, and what is found. */
interface SetUp {
  readonly title: string
  readonly skip?: string | false
  prepare(place: Place): Promise<Record<string, string>> | Record<string, string>
  /** A busy machine also hashes slowly: elsewhere this finding does not count. */
  readonly isAboutHashing?: boolean
  /** Every finding that is not `ok`. */
  readonly finds: readonly string[]
}

const noRoot = process.getuid?.() !== 0 && 'only root may do it'
const noPooler = !hasPgBouncer() && 'pgbouncer is not on this machine'
const EMBEDDED = { DATABASE_URL: '' }
const CUSTOMER = `insert into customers (id, email, password_hash, created_at)
  select gen_random_uuid(), n || '@example.com', '${HASH}', now()`

const dotEnv = (title: string, content: string | Uint8Array, ...finds: readonly string[]): SetUp => ({
  title,
  prepare({ write }) {
    write('.env', content)
    return {}
  },
  finds,
})
const settings = (title: string, env: Record<string, string>, ...finds: readonly string[]): SetUp => ({
  title,
  prepare: () => env,
  finds,
})
const database = (title: string, statement: string, ...finds: readonly string[]): SetUp => ({
  title,
  prepare: async (place) => ({ DATABASE_URL: await place.database(statement) }),
  finds,
})
const role = (title: string, statement: string, ...finds: readonly string[]): SetUp => ({
  title,
  prepare: async (place) => ({ DATABASE_URL: await place.databaseOfRole(statement), MIGRATE: 'off' }),
  finds,
})

const BROKEN: readonly SetUp[] = [
  // Settings
  settings('an invalid setting', { PORT: 'many' }, 'failure settings.PORT'),
  settings(
    'the example secret of the documentation',
    { SERVICE_TOKENS: 'monitor=replace-with-the-output-of-service-token-new' },
    'failure settings.SERVICE_TOKENS',
  ),
  settings(
    'a password that is not percent-encoded',
    { DATABASE_URL: 'postgres://app:2024#Summer@db.example/x' },
    'failure settings.DATABASE_URL',
    'warning database',
  ),
  settings(
    'a secret file that does not exist',
    { SERVICE_TOKENS_FILE: '/nonexistent' },
    'failure settings.SERVICE_TOKENS_FILE',
  ),
  settings('a low BCRYPT_COST', { BCRYPT_COST: '4' }, 'warning settings.BCRYPT_COST'),
  {
    ...settings('a BCRYPT_COST for which this machine is slow', { BCRYPT_COST: '15' }, 'warning hashing'),
    isAboutHashing: true,
  },
  settings(
    'more hashes at once than threads',
    { HASHING_CONCURRENCY: '8' },
    'warning settings.HASHING_CONCURRENCY',
  ),
  settings('one thread', { UV_THREADPOOL_SIZE: '1' }, 'warning settings.HASHING_CONCURRENCY'),
  settings(
    'more connections than open files',
    { MAX_CONNECTIONS: '1000000' },
    'warning settings.MAX_CONNECTIONS',
  ),
  settings('OPS without a service token', { OPS: 'on' }, 'warning settings.OPS'),
  settings(
    'HOST open to other machines without TLS',
    { NODE_ENV: 'production', HOST: '0.0.0.0', AUDIT_LOG: '/dev/null' },
    'warning settings.HOST',
  ),
  settings(
    'production without a file for the audit log',
    { NODE_ENV: 'production' },
    'warning settings.AUDIT_LOG',
  ),
  settings(
    'a proxy that is not trusted',
    { PUBLIC_URL: 'https://api.example.com' },
    'warning settings.TRUST_PROXY',
  ),
  dotEnv('a misspelt setting in .env', 'TRUST_PROXI=1\n', 'warning settings..env'),
  dotEnv('a variable of node in .env', 'UV_THREADPOOL_SIZE=8\n', 'warning settings..env'),
  dotEnv('a heading in .env', 'Settings\nTOKEN_TTL=7d\n', 'failure settings..env', 'warning database'),
  dotEnv(
    '.env in UTF-16',
    Buffer.from('\ufeffPORT=1\n', 'utf16le'),
    'failure settings..env',
    'warning database',
  ),
  {
    title: '.env of another account',
    skip: noRoot,
    prepare({ write }) {
      chownSync(write('.env', 'TOKEN_TTL=7d\n'), 12_345, 12_345)
      return {}
    },
    finds: ['warning settings..env'],
  },

  // Files
  {
    title: 'a secret in .env that every account may read',
    prepare({ write }) {
      write('.env', `SERVICE_TOKENS=monitor=${newServiceSecret()}\n`, 0o644)
      return {}
    },
    finds: ['warning files..env'],
  },
  {
    title: 'a secret file that others may write',
    prepare: ({ write }) => ({
      SERVICE_TOKENS_FILE: write('tokens', `monitor=${newServiceSecret()}\n`, 0o666),
    }),
    finds: ['failure files.SERVICE_TOKENS_FILE'],
  },
  {
    title: 'AUDIT_LOG in a folder that does not exist',
    prepare: ({ path }) => ({ AUDIT_LOG: join(path, 'none/audit.jsonl') }),
    finds: ['failure files.AUDIT_LOG'],
  },
  {
    title: 'AUDIT_LOG that names a folder',
    prepare: ({ path }) => ({ AUDIT_LOG: path }),
    finds: ['failure files.AUDIT_LOG'],
  },
  {
    title: 'AUDIT_LOG that every account may read',
    prepare: ({ write }) => ({ AUDIT_LOG: write('audit.jsonl', '', 0o644) }),
    finds: ['warning files.AUDIT_LOG'],
  },
  {
    title: 'AUDIT_LOG on a full disk',
    skip: noRoot,
    prepare: (place) => ({ AUDIT_LOG: join(fullDisk(place), 'audit.jsonl') }),
    finds: ['failure files.AUDIT_LOG'],
  },
  {
    title: 'DATA_DIR on a full disk, before the first start',
    skip: noRoot,
    prepare: (place) => ({ ...EMBEDDED, DATA_DIR: join(fullDisk(place), 'data') }),
    finds: ['failure files.DATA_DIR'],
  },
  {
    title: 'DATA_DIR on a disk that is full since',
    skip: noRoot,
    async prepare(place) {
      const disk = smallDisk(place, 200)
      const env = { ...EMBEDDED, DATA_DIR: join(disk.path, 'data') }
      await place.embedded(env)
      disk.fill('filler')
      return env
    },
    finds: ['failure files.DATA_DIR'],
  },
  {
    title: 'DATA_DIR that other accounts may enter',
    prepare({ path }) {
      mkdirSync(join(path, 'data'), { mode: 0o755 })
      return EMBEDDED
    },
    finds: ['warning files.DATA_DIR'],
  },
  {
    title: 'DATA_DIR that names a file',
    prepare: ({ write }) => ({ ...EMBEDDED, DATA_DIR: write('data', '') }),
    finds: ['failure database'],
  },
  {
    title: 'DATA_DIR with files of another program',
    prepare({ write }) {
      write('data/report.txt', '')
      return EMBEDDED
    },
    finds: ['failure database'],
  },

  // The server
  settings(
    'a server that does not run',
    { DATABASE_URL: 'postgres://app@127.0.0.1:1/x' },
    'failure database.reached',
  ),
  settings(
    'a server on another machine, without TLS, whose name is unknown',
    { DATABASE_URL: 'postgres://app@db.invalid/x' },
    'warning settings.DATABASE_URL',
    'failure database.reached',
  ),
  {
    title: 'a direct address that is wrong',
    prepare: () => ({ DATABASE_DIRECT_URL: 'postgres://app@127.0.0.1:1/x' }),
    finds: ['failure database.direct'],
  },
  {
    title: 'a direct address of another database',
    prepare: async (place) => ({ DATABASE_DIRECT_URL: await place.database() }),
    finds: ['failure database.link'],
  },
  {
    title: 'a role that does not exist',
    prepare: () => ({ DATABASE_URL: withUser('stranger') }),
    finds: ['failure database.reached'],
  },
  {
    title: 'a standby',
    prepare: async (place) => ({ DATABASE_URL: await openStandby(place) }),
    finds: ['failure database.server', 'failure database.link', 'failure database.writable'],
  },
  database(
    'commits that a crash loses',
    'alter database :db set synchronous_commit = off',
    'failure database.server',
  ),
  {
    title: 'a clock that is 90 s ahead',
    prepare: () => ({
      NODE_OPTIONS: '--import=data:text/javascript,const{now}=Date;Date.now=()=>now()%2B90000',
    }),
    finds: ['warning database.clock'],
  },
  {
    title: 'a transaction pooler without a direct address',
    skip: noPooler,
    prepare: async (place) => ({
      DATABASE_URL: await place.pooler(await place.database()),
      DATABASE_PREPARED: 'off',
    }),
    finds: ['failure database.link'],
  },
  {
    title: 'a transaction pooler without prepared statements, which newer ones keep',
    skip: noPooler,
    prepare: async (place) => {
      const direct = await place.database()
      return { DATABASE_URL: await place.pooler(direct), DATABASE_DIRECT_URL: direct }
    },
    finds: keepsPreparedStatements() ? [] : ['failure database.prepared'],
  },

  // The schema
  {
    title: 'an empty database with MIGRATE=off',
    prepare: async (place) => ({ DATABASE_URL: await emptyDatabase(place), MIGRATE: 'off' }),
    finds: ['failure database.migrations'],
  },
  {
    title: 'an empty database that the next start migrates',
    prepare: async (place) => ({ DATABASE_URL: await emptyDatabase(place) }),
    finds: ['warning database.migrations'],
  },
  database(
    'the schema of a newer version',
    "insert into latchkey_migrations (name, run_on) values ('9999_future', now())",
    'failure database.migrations',
  ),
  database(
    'a table in another schema',
    'create schema other; alter table login_attempts set schema other',
    'failure database.schema',
  ),
  database('a missing trigger', 'drop trigger publish_update on login_tokens', 'failure database.triggers'),
  database(
    'a disabled trigger',
    'alter table customers disable trigger publish_delete',
    'failure database.triggers',
  ),
  database(
    'triggers as pg_restore --disable-triggers leaves them',
    'alter table login_tokens disable trigger all; alter table login_tokens enable trigger all',
    'failure database.triggers',
  ),
  database(
    'no unique index of the login token',
    'drop index login_tokens_one_login_key',
    'failure database.indexes',
  ),
  database(
    'read-only transactions',
    'alter database :db set default_transaction_read_only = on',
    'failure database.writable',
  ),

  // The role
  role('a role without a privilege', 'revoke insert on login_tokens from :role', 'failure database.grants'),
  role(
    'a role without any privilege',
    'revoke all on all tables in schema public from :role',
    'failure database.migrations',
    'failure database.passwords',
    'failure database.grants',
  ),
  role(
    'a role that may not use the schema',
    'revoke usage on schema public from public',
    'failure database.migrations',
    'failure database.schema',
    'failure database.triggers',
  ),
  role(
    'a role with too few connections',
    'alter role :role connection limit 6',
    'failure database.connections',
  ),
  role('a role without a connection', 'alter role :role connection limit 0', 'failure database.reached'),
  role(
    'a database with too few connections',
    'alter database :db connection limit 6',
    'failure database.connections',
  ),

  // The customers
  database(
    'a damaged password hash',
    `${CUSTOMER.replace(HASH, 'x')} from generate_series(1, 1) as n`,
    'warning database.passwords',
  ),
  database(
    'a hash that costs more than BCRYPT_COST',
    `${CUSTOMER.replace('$04$', '$12$')} from generate_series(1, 1) as n`,
    'warning database.passwords',
  ),
]

const HEALTHY: readonly Omit<SetUp, 'finds'>[] = [
  { title: 'the defaults, before the first start', prepare: () => ({ ...EMBEDDED, BCRYPT_COST: '' }) },
  {
    title: 'the embedded database',
    async prepare(place) {
      await place.embedded()
      return EMBEDDED
    },
  },
  { title: 'a database on a server', prepare: () => ({}) },
  {
    title: '60,000 customers',
    prepare: async (place) => ({
      DATABASE_URL: await place.database(`${CUSTOMER} from generate_series(1, 60000) as n`),
    }),
  },
  {
    title: 'four workers',
    prepare: () => ({ WORKERS: '4', DATABASE_POOL_MAX: '5', HASHING_CONCURRENCY: '6' }),
  },
  {
    title: 'the role of the service, with MIGRATE=off',
    prepare: async (place) => ({ DATABASE_URL: await place.databaseOfRole(), MIGRATE: 'off' }),
  },
  {
    title: 'tables in a schema of their own, and another search_path',
    prepare: async (place) => ({
      DATABASE_URL: await place.database(
        'alter schema public rename to api',
        "alter database :db set search_path = ''",
      ),
    }),
  },
  {
    title: 'a transaction pooler with a direct address',
    skip: noPooler,
    prepare: async (place) => {
      const direct = await place.database()
      return {
        DATABASE_URL: await place.pooler(direct),
        DATABASE_DIRECT_URL: direct,
        DATABASE_PREPARED: 'off',
      }
    },
  },
  {
    title: 'production behind a proxy with TLS',
    prepare: ({ path }) => ({
      NODE_ENV: 'production',
      AUDIT_LOG: join(path, 'audit.jsonl'),
      HOST: '0.0.0.0',
      PUBLIC_URL: 'https://api.example.com',
      TRUST_PROXY: '1',
    }),
  },
  {
    title: 'secrets in files, an audit log and the operator’s page',
    prepare: ({ write, path }) => ({
      SERVICE_TOKENS_FILE: write(
        'tokens',
        `monitor=${newServiceSecret()}\noncall[ops]=${newServiceSecret()}\n`,
      ),
      AUDIT_LOG: join(path, 'audit.jsonl'),
      OPS: 'on',
    }),
  },
  {
    title: 'a .env file of Windows with variables of other programs',
    prepare: ({ write }) => {
      write('.env', '\ufeff# API\r\nexport TOKEN_TTL=7d\r\nAPP_NAME=x\r\nPOSTGRES_PASSWORD=x\r\nPORT=\r\n')
      return {}
    },
  },
]

let healthy: TestDatabase
before(async () => {
  healthy = await createTestDatabase()
})
after(() => healthy.drop())

/** The names of all results, with the setting as `<NAME>`. */
const seen = new Set<string>()

async function findingsOf(
  { prepare, isAboutHashing = false }: Omit<SetUp, 'finds'>,
  place: Place,
): Promise<readonly string[]> {
  const env = { DATABASE_URL: healthy.url, BCRYPT_COST: '10', ...(await prepare(place)) }
  const { code, stdout, stderr } = await runLatchkey(['doctor', '--json'], { cwd: place.path, env })
  assert.match(stdout, /^\{/, stderr)
  const { ok, checks }: { ok: boolean; checks: readonly Check[] } = JSON.parse(stdout)
  for (const { name } of checks) seen.add(name.replace(/^(settings|files)\..*/, '$1.<NAME>'))
  const failures = checks.filter(({ state }) => state === 'failure').length
  assert.deepEqual([ok, code], failures === 0 ? [true, 0] : [false, 1])
  for (const { message, hint } of checks) assert.doesNotMatch(`${message}${hint}`, /[\r\n]/)
  return checks
    .filter(({ name, state }) => state !== 'ok' && (name !== 'hashing' || isAboutHashing))
    .map(({ name, state }) => `${state} ${name}`)
}

describe('doctor', { skip: postgresAlone, concurrency: 3 }, () => {
  for (const setUp of BROKEN)
    test(`finds: ${setUp.title}`, { skip: setUp.skip }, async (t) => {
      assert.deepEqual(await findingsOf(setUp, await createPlace(t)), setUp.finds)
    })

  for (const setUp of HEALTHY)
    test(`finds nothing wrong with ${setUp.title}`, { skip: setUp.skip }, async (t) => {
      assert.deepEqual(await findingsOf(setUp, await createPlace(t)), [])
    })
})

describe('The reference of the checks of doctor', { skip: postgresAlone }, () => {
  test('has the name of every result above, and no other', () => {
    const documented = readTable('docs/reference/cli.md', 'Checks').map(([name = '']) => name.slice(1, -1))
    const missing = noPooler ? ['database.prepared'] : []
    assert.deepEqual([...seen, ...missing].sort(), [...documented].sort())
  })
})

function withUser(user: string): string {
  const url = new URL(healthy.url)
  url.username = user
  return url.href
}

async function emptyDatabase(place: Place): Promise<string> {
  const { url, drop } = await createTestDatabase({ migrated: false })
  place.onEnd(drop)
  return url
}

function smallDisk(place: Place, megabytes: number): SmallDisk {
  const disk = openSmallDisk(place.path, megabytes)
  if (typeof disk === 'string') throw new Error(disk)
  place.onEnd(disk.close)
  return disk
}

/** Mounts a disk without free space and returns its path. */
function fullDisk(place: Place): string {
  const disk = smallDisk(place, 1)
  disk.fill('filler')
  return disk.path
}

/** Starts a server that waits for a primary, and returns its URL. */
async function openStandby(place: Place): Promise<string> {
  await place.embedded()
  const data = join(place.path, 'data')
  writeFileSync(join(data, 'postgres/standby.signal'), '')
  const standby = await openEmbeddedPostgres({ dataDir: data, home: place.path, role: 'service' })
  place.onEnd(() => standby.close())
  return standby.url
}
