import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPool } from '../../src/adapters/postgres/connection/pool.ts'
import { postgresLoginTokens } from '../../src/adapters/postgres/login-tokens.ts'
import { createTestDatabase, type TestDatabase } from '../../tests/support/database.ts'
import { type RunningProcess, startLatchkey } from '../../tests/support/running-process.ts'
import { cpuSecondsOf } from '../machine.ts'
import { type Bench, type Findings, grouped, inOrder, type Part, shownSpread, spreadOf } from '../part.ts'

const AT_ONCE = [1, 10, 30]
const INSTANCES = 2

/** How many revocations a second one database carries, and what being ready for them costs. */
export const revocations: Part = { id: 'revocations', title: 'Revocations', run }

async function run(bench: Bench): Promise<Findings> {
  const database = await createTestDatabase()
  const instances: RunningProcess[] = []
  try {
    for (let i = 0; i < INSTANCES; i++) instances.push(await startInstance(bench, database))
    const rates = await measureRates(bench, database)
    const idle = await measureIdle(bench, database, instances[0])
    const most = Math.max(...AT_ONCE.map((atOnce) => spreadOf(rates.get(`${atOnce} with`) ?? []).median))
    return {
      about: `Tokens revoked one by one with the service's own statements, on one database to which ${INSTANCES} instances
listen; with the triggers that publish each change, and with the triggers disabled. PostgreSQL publishes one commit
at a time, which limits the rate of published changes. A login that revokes no token, a rehash, a touch and a prune publish
nothing and are not limited.`,
      tables: [
        {
          head: ['revocations at once', 'a second, published', 'a second, not published'],
          rows: AT_ONCE.map((atOnce) => [
            String(atOnce),
            shownSpread(rates.get(`${atOnce} with`) ?? []),
            shownSpread(rates.get(`${atOnce} without`) ?? []),
          ]),
        },
      ],
      goals: [
        {
          id: 'revocations',
          what: 'published revocations a second on one database',
          goal: '≥ 2,000',
          measured: grouped(most),
          isReached: most >= 2000,
        },
        ...(idle === null
          ? []
          : [
              {
                id: 'heartbeats',
                what: 'an idle instance with its heartbeats, and their load on PostgreSQL, share of a core',
                goal: '< 0.5 %',
                measured: `${grouped(idle.instance, 2)} % and ${grouped(idle.backends, 2)} %`,
                isReached: idle.instance < 0.5,
              },
            ]),
      ],
    }
  } finally {
    for (const { child } of instances) child.kill()
    await Promise.all(instances.map(({ ended }) => ended))
    await database.drop()
  }
}

async function startInstance({ folder }: Bench, { url }: TestDatabase): Promise<RunningProcess> {
  const instance = startLatchkey(['serve'], { cwd: folder, env: { PORT: '0', DATABASE_URL: url } })
  await instance.until(/"address":/)
  return instance
}

async function measureRates(bench: Bench, database: TestDatabase): Promise<Map<string, number[]>> {
  const rates = new Map<string, number[]>()
  const rounds = bench.quick ? 1 : 5
  for (let round = 0; round < rounds; round++) {
    for (const atOnce of AT_ONCE) {
      for (const announced of inOrder(['with', 'without'], round)) {
        bench.progress(
          `revocations: round ${round + 1} of ${rounds}, ${atOnce} at once, ${announced} triggers`,
        )
        const how = announced === 'with' ? 'enable always' : 'disable'
        await database.sql(`alter table login_tokens ${how} trigger announce_update`)
        const rate = await rateOf(database, atOnce, bench.quick ? 1000 : 3000)
        const key = `${atOnce} ${announced}`
        rates.set(key, [...(rates.get(key) ?? []), rate])
      }
    }
  }
  return rates
}

/** Revocations a second, each worker one after another. */
async function rateOf(database: TestDatabase, atOnce: number, forMs: number): Promise<number> {
  const tokens = await makeTokens(database, Math.round((forMs / 1000) * 25_000))
  const pool = openPool({ url: database.url, max: atOnce, prepared: true, onEvent() {} })
  const { revoke } = postgresLoginTokens(pool)
  let revoked = 0
  try {
    const beganMs = performance.now()
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let token = tokens.pop(); token && performance.now() - beganMs < forMs; token = tokens.pop()) {
          if (!(await revoke(token, Date.now(), 10_000))) throw new Error('A token was not revoked.')
          revoked += 1
        }
      }),
    )
    return (revoked / (performance.now() - beganMs)) * 1000
  } finally {
    await pool.close()
  }
}

async function makeTokens(
  { sql }: TestDatabase,
  count: number,
): Promise<{ readonly id: string; readonly digest: string }[]> {
  const customerId = randomUUID()
  await sql('truncate customers cascade')
  await sql(`insert into customers (id, email, name, created_at) values ($1, $2, 'Ada', now())`, [
    customerId,
    `${customerId}@example.com`,
  ])
  const rows = await sql<{ id: string; digest: string }>(
    `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
     select gen_random_uuid(), $1, 'bot', sha256(convert_to($2 || n, 'UTF8')), '{*}', now()
       from generate_series(1, $3) as n
     returning id, encode(token_hash, 'hex') as digest`,
    [customerId, randomBytes(8).toString('hex'), count],
  )
  await sql('vacuum analyze login_tokens')
  return rows
}

/** The share of a core, in hundredths, of an instance that nobody calls; null where the system does not tell. */
async function measureIdle(
  bench: Bench,
  { sql }: TestDatabase,
  instance: RunningProcess | undefined,
): Promise<{ readonly instance: number; readonly backends: number } | null> {
  const forMs = bench.quick ? 5000 : 30_000
  bench.progress(`revocations: an idle instance for ${forMs / 1000} s`)
  const rows = await sql<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and application_name in ('latchkey listener', 'latchkey heartbeat')`,
  )
  const backends = rows.map(({ pid }) => pid)
  try {
    const seconds = () => [
      cpuSecondsOf(instance?.child.pid ?? 0),
      backends.map(cpuSecondsOf).reduce((sum, each) => sum + each, 0),
    ]
    const before = seconds()
    await sleep(forMs)
    const after = seconds()
    const share = (at: number) => (((after[at] ?? 0) - (before[at] ?? 0)) / (forMs / 1000)) * 100
    return { instance: share(0), backends: share(1) / INSTANCES }
  } catch {
    return null
  }
}
