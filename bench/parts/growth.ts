import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DatabasePool, openPool } from '../../src/adapters/postgres/connection/pool.ts'
import { postgresCustomers } from '../../src/adapters/postgres/customers.ts'
import { postgresLoginTokens } from '../../src/adapters/postgres/login-tokens.ts'
import { aDigest, aLoginToken } from '../../src/testing/builders.ts'
import { createTestDatabase, type TestDatabase } from '../../tests/support/database.ts'
import { type Filled, fillDatabase, isKnown, spaceProblem } from '../growth/fill-database.ts'
import { emailOf, TOKENS_PER_CUSTOMER } from '../growth/rows.ts'
import { measure, meRequest } from '../load.ts'
import { type Bench, inOrder, type Part } from '../part.ts'
import { product } from '../product.ts'
import { goal, type Samples } from '../samples.ts'
import { withServer } from '../server.ts'
import { format, formatEstimate, median } from '../statistics.ts'

const SMALL = 1000
const TIMEOUT_MS = 10_000

/** Goal P11: the kinds of work, each over 1 and 8 connections, and the highest multiple of the latency. */
const KINDS = [
  { id: 'hit', what: 'a cache hit', max: 1.05, env: {} },
  { id: 'miss', what: 'a cache miss', max: 1.3, env: { TOKEN_CACHE_TTL: '0s' } },
] as const
const CONNECTIONS = [1, 8] as const

/** A filled database. */
interface Sized {
  readonly size: 'small' | 'large'
  readonly customers: number
  readonly database: TestDatabase
  readonly pool: DatabasePool
  readonly requests: readonly string[]
  readonly filled: Filled
}

/** The latencies as the tables grow. */
export const growth: Part = { id: 'growth', title: 'Growth', isLong: true, open }

async function open(bench: Bench) {
  const customers = { small: SMALL, large: bench.isQuick ? 20_000 : 1_000_000 }
  const problem = await spaceProblem(process.env.TEST_DATABASE_URL ?? '', customers.large)
  if (problem !== null) throw new Error(problem)
  const databases: Sized[] = []
  for (const size of ['small', 'large'] as const) databases.push(await fill(bench, size, customers[size]))
  return {
    about: `From ${format(customers.small)} to ${format(customers.large)} customers with ${TOKENS_PER_CUSTOMER} tokens each, in two databases on one server. A ratio compares
the median latencies of one round. A hit uses one cached token; a miss looks up the token of another customer for each request. The
database work of a login finds a random customer by e-mail and replaces the login token.`,
    async round({ number, node, samples }) {
      for (const { id, env } of KINDS) {
        for (const { size, database, requests } of inOrder(databases, number)) {
          bench.progress(`round ${number + 1}, Node ${node.version}: ${id}, ${size}`)
          await withServer(product(bench, database.url, { env }), bench, node, async (server) => {
            for (const connections of CONNECTIONS) {
              const used = id === 'hit' ? requests.slice(0, 1) : requests
              const load = { requests: used, connections, seconds: bench.isQuick ? 1 : 3, isPinned: false }
              samples.add(`${id} ${connections} ${size}`, await measure(bench, server, load))
            }
          })
        }
      }
      for (const { size, pool, customers } of inOrder(databases, number)) {
        bench.progress(`round ${number + 1}: login, ${size}`)
        samples.add(`login 1 ${size}`, { p50Ms: await loginMs(pool, customers, bench.isQuick ? 100 : 1000) })
      }
    },
    report: (samples) => ({ tables: [latencies(samples), sizes(databases)], goals: goals(samples) }),
    async close() {
      for (const { pool, database } of databases) {
        await pool.close()
        await database.drop()
      }
    },
  } satisfies Awaited<ReturnType<Part['open']>>
}

async function fill(bench: Bench, size: Sized['size'], customers: number): Promise<Sized> {
  const database = await createTestDatabase()
  const tokensFile = join(bench.folder, `tokens-${size}`)
  const filled = await fillDatabase({
    url: database.url,
    customers,
    tokensFile,
    onProgress(percent, step) {
      if (percent % 10 === 0) bench.progress(`growth: ${format(customers)} customers, ${percent} % ${step}`)
    },
  })
  // Otherwise the server writes to the disk during the rounds. Not every role may run it.
  await database.sql('checkpoint').catch(() => {})
  const requests = readFileSync(tokensFile, 'utf8').trim().split('\n').map(meRequest)
  const pool = openPool({ url: database.url, max: 1, prepared: true, onEvent() {} })
  await loginMs(pool, customers, 100)
  return { size, customers, database, pool, requests, filled }
}

/** Returns the median latency of a login's database work. */
async function loginMs(pool: DatabasePool, customers: number, logins: number): Promise<number> {
  const { findByEmail } = postgresCustomers(pool)
  const { replace } = postgresLoginTokens(pool)
  const latencies: number[] = []
  while (latencies.length < logins) {
    const number = Math.floor(Math.random() * customers)
    // The misses need those tokens.
    if (isKnown(number, customers)) continue
    const digest = aDigest()
    const startMs = performance.now()
    const found = await findByEmail(emailOf(number), TIMEOUT_MS)
    if (found === null) throw new Error(`${emailOf(number)} is not in the database.`)
    const token = aLoginToken({ customerId: found.customer.id })
    const replaced = await replace({ token, digest, verifiedHash: found.passwordHash ?? '' }, TIMEOUT_MS)
    latencies.push(performance.now() - startMs)
    if (replaced !== 1) throw new Error(`The login of ${emailOf(number)} replaced ${replaced} tokens.`)
  }
  return median(latencies)
}

function ratios(samples: Samples, kind: string): readonly number[] {
  return samples.ratios(`${kind} large`, `${kind} small`, 'p50Ms')
}

function latencies(samples: Samples) {
  const kinds = [...KINDS.flatMap(({ id }) => CONNECTIONS.map((count) => `${id} ${count}`)), 'login 1']
  return {
    head: ['work, connections', 'small: p50, ms', 'large: p50, ms', 'ratio'],
    rows: kinds.map((kind) => [
      kind.replace(' ', ', '),
      samples.show(`${kind} small`, 'p50Ms', 3),
      samples.show(`${kind} large`, 'p50Ms', 3),
      formatEstimate(ratios(samples, kind), 2),
    ]),
  }
}

function sizes(databases: readonly Sized[]) {
  return {
    head: ['customers', 'tokens', 'filled in, s', 'rows copied per second'],
    rows: databases.map(({ customers, filled }) => [
      format(customers),
      format(customers * TOKENS_PER_CUSTOMER),
      format(filled.seconds, 1),
      format(filled.rowsPerSecond),
    ]),
  }
}

function goals(samples: Samples) {
  const requests = KINDS.flatMap(({ id, what, max }) =>
    CONNECTIONS.map((count) => ({
      kind: `${id} ${count}`,
      what: `p50 of ${what}, ${count} connections`,
      max,
    })),
  )
  const login = { kind: 'login 1', what: "p50 of a login's database work", max: 1.3 }
  return [...requests, login].map(({ kind, what, max }) =>
    goal({ id: 'P11', what: `${what}, ratio to ${format(SMALL)} customers` }, ratios(samples, kind), { max }),
  )
}
