import { randomBytes } from 'node:crypto'
import { openPool } from '../../src/adapters/postgres/connection/pool.ts'
import { postgresLoginTokens } from '../../src/adapters/postgres/login-tokens.ts'
import { createTestDatabase, type TestDatabase } from '../../tests/support/database.ts'
import { createTokens } from '../data.ts'
import { logoutRequest, runClient } from '../load.ts'
import { type Bench, inOrder, type Part } from '../part.ts'
import { product } from '../product.ts'
import { goal, type Samples } from '../samples.ts'
import { type Candidate, type RunningServer, withServer } from '../server.ts'

/** Goal P16: the number of instances, and the p50 and p99 of a logout in milliseconds. */
const LOGOUTS = [
  { instances: 1, p50: 3, p99: 10 },
  { instances: 3, p50: 6, p99: 16 },
  { instances: 5, p50: 8, p99: 19 },
  { instances: 10, p50: 12, p99: 25 },
] as const
const CONCURRENCY = [1, 10, 30]
const INSTANCES = 2
const WARM_LOGOUTS = 20

/** The latency of a logout as instances are added, and the revocations that one database carries. */
export const revocations: Part = { id: 'revocations', title: 'Revocations', isLong: true, open }

async function open(bench: Bench) {
  const database = await createTestDatabase()
  const candidate = product(bench, database.url)
  return {
    about: `Logouts one after another at one of several instances on one database; each instance must have applied the
revocation before the response. Then tokens are revoked with the service's own statements over 1, 10 and 30 connections to a database with
${INSTANCES} instances, with the triggers that publish each change and without. PostgreSQL publishes one commit at a time, which limits
the rate.`,
    async round({ number, node, samples }) {
      const measures = LOGOUTS.map(({ instances }) => async () => {
        bench.progress(`round ${number + 1}, Node ${node.version}: logouts, ${instances} instances`)
        const requests = (await createTokens(database, bench.isQuick ? 40 : 250)).map(logoutRequest)
        await withServers(instances, async ([server]) => {
          // The first ones run code that Node has not compiled yet.
          await logOut(server, requests.slice(0, WARM_LOGOUTS))
          samples.add(`logout ${instances}`, await logOut(server, requests.slice(WARM_LOGOUTS)))
        })
      })
      for (const measure of inOrder(measures, number)) await measure()
      await withServers(INSTANCES, async () => {
        for (const how of inOrder(['published', 'not published'], number)) {
          await setTriggers(database, how === 'published' ? 'enable always' : 'disable')
          for (const connections of CONCURRENCY) {
            bench.progress(`round ${number + 1}: revocations ${how}, ${connections} connections`)
            const perSecond = await revocationsPerSecond(database, connections, bench.isQuick ? 500 : 2000)
            samples.add(`${how} ${connections}`, { perSecond })
          }
        }
        await setTriggers(database, 'enable always')
      })

      async function logOut(server: RunningServer | undefined, requests: readonly string[]) {
        const stream = { requests, connections: 1, isOnce: true }
        const options = { seconds: 0, warmSeconds: 0 }
        const { result } = await runClient(bench, server?.url ?? '', { result: stream }, options)
        if (result.failed > 0) throw new Error(`${result.failed} logouts failed.`)
        return result
      }

      async function withServers(count: number, use: (servers: readonly RunningServer[]) => Promise<void>) {
        const start = (running: readonly RunningServer[]): Promise<void> =>
          running.length === count
            ? use(running)
            : withServer(candidate satisfies Candidate, bench, node, (server) => start([...running, server]))
        await start([])
      }
    },
    report: (samples) => ({ tables: tables(samples), goals: goals(samples) }),
    close: database.drop,
  } satisfies Awaited<ReturnType<Part['open']>>
}

function tables(samples: Samples) {
  return [
    {
      head: ['instances', 'logout: p50, ms', 'logout: p99, ms'],
      rows: LOGOUTS.map(({ instances }) => [
        String(instances),
        samples.show(`logout ${instances}`, 'p50Ms', 1),
        samples.show(`logout ${instances}`, 'p99Ms', 1),
      ]),
    },
    {
      head: ['connections', 'revocations per second, published', 'not published'],
      rows: CONCURRENCY.map((connections) => [
        String(connections),
        samples.show(`published ${connections}`, 'perSecond'),
        samples.show(`not published ${connections}`, 'perSecond'),
      ]),
    },
  ]
}

function goals(samples: Samples) {
  const latencies = LOGOUTS.flatMap(({ instances, p50, p99 }) => {
    const values = (metric: string) => samples.values(`logout ${instances}`, metric)
    const what = (percentile: string) => `${percentile} of a logout, instances: ${instances}, ms`
    return [
      goal({ id: 'P16', what: what('p50') }, values('p50Ms'), { max: p50, digits: 1 }),
      goal({ id: 'P16', what: what('p99') }, values('p99Ms'), { max: p99, digits: 1 }),
    ]
  })
  // Of each round the best number of connections.
  const rates = CONCURRENCY.map((connections) => samples.values(`published ${connections}`, 'perSecond'))
  const best = (rates[0] ?? []).map((_, round) => Math.max(...rates.map((values) => values[round] ?? 0)))
  return [
    ...latencies,
    goal({ id: 'P16', what: 'published revocations per second' }, best, { min: 3000, digits: 0 }),
  ]
}

/** Changes the triggers that publish a revocation: that of this version, and that of versions before migration 0005. */
async function setTriggers({ sql }: TestDatabase, change: 'enable always' | 'disable'): Promise<void> {
  await sql(`alter table login_tokens ${change} trigger publish_update, ${change} trigger announce_update`)
}

async function revocationsPerSecond(
  database: TestDatabase,
  connections: number,
  durationMs: number,
): Promise<number> {
  const tokens = await createDigests(database, Math.round((durationMs / 1000) * 25_000))
  const pool = openPool({ url: database.url, max: connections, prepared: true, onEvent() {} })
  const { revoke } = postgresLoginTokens(pool)
  let revoked = 0
  const startMs = performance.now()
  try {
    const workers = Array.from({ length: connections }, async () => {
      for (
        let token = tokens.pop();
        token && performance.now() - startMs < durationMs;
        token = tokens.pop()
      ) {
        if (!(await revoke(token, Date.now(), 10_000))) throw new Error('A token was not revoked.')
        revoked++
      }
    })
    await Promise.all(workers)
    return (revoked / (performance.now() - startMs)) * 1000
  } finally {
    await pool.close()
  }
}

/** Replaces all customers by one with as many tokens. */
async function createDigests(
  { sql }: TestDatabase,
  count: number,
): Promise<{ id: string; digest: string }[]> {
  await sql('truncate customers cascade')
  const rows = await sql<{ id: string; digest: string }>(
    `with customer as (
       insert into customers (id, email, name, created_at)
       values (gen_random_uuid(), 'customer@example.com', 'Ada', now()) returning id
     )
     insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
     select gen_random_uuid(), customer.id, 'bot', sha256(convert_to($1 || n, 'UTF8')), '{*}', now()
       from customer, generate_series(1, $2) as n
     returning id, encode(token_hash, 'hex') as digest`,
    [randomBytes(8).toString('hex'), count],
  )
  await sql('vacuum analyze login_tokens')
  return rows
}
