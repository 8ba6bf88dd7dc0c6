import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DatabasePool, openPool } from '../../src/adapters/postgres/connection/pool.ts'
import { postgresCustomers } from '../../src/adapters/postgres/customers.ts'
import { postgresLoginTokens } from '../../src/adapters/postgres/login-tokens.ts'
import { aDigest, aLoginToken } from '../../src/testing/builders.ts'
import { createTestDatabase, type TestDatabase } from '../../tests/support/database.ts'
import { product, type Served, withServers } from '../candidates.ts'
import { type Filled, fillDatabase, isKnown, roomProblem } from '../growth/fill-database.ts'
import { emailOf, TOKENS_EACH } from '../growth/rows.ts'
import {
  type Bench,
  type Findings,
  type Goal,
  grouped,
  inOrder,
  type Part,
  shownSpread,
  spreadOf,
  type Table,
} from '../part.ts'
import { type Contestant, carry } from '../rounds.ts'

const FEW = 1000
const CONNECTIONS = [1, 8]
const WAIT_MS = 10_000

/** What is aimed at: at most so many times the latency. */
const AIMS = [
  { id: 'hit', what: 'a cache hit', most: 1.05 },
  { id: 'miss', what: 'a cache miss', most: 1.3 },
  { id: 'login', what: "a login's database work", most: 1.3 },
] as const

/** A filled database. */
interface Sized {
  readonly size: 'small' | 'large'
  readonly customers: number
  readonly database: TestDatabase
  readonly tokensFile: string
  readonly filled: Filled
  /** Of the customers, of their tokens, of all indexes. */
  readonly megabytes: readonly number[]
}

/** Something whose latency was taken on both databases, round by round. */
interface Compared {
  readonly aim: (typeof AIMS)[number]['id']
  readonly name: string
  readonly smallMs: readonly number[]
  readonly largeMs: readonly number[]
}

/** How much slower everything gets as the tables grow. */
export const growth: Part = { id: 'growth', title: 'Growth', isLong: true, run }

async function run(bench: Bench): Promise<Findings> {
  const customers = { small: FEW, large: bench.quick ? 20_000 : 1_000_000 }
  const grown = `From ${grouped(customers.small)} to ${grouped(customers.large)} customers`
  const problem = await roomProblem(process.env.TEST_DATABASE_URL ?? '', customers.large)
  if (problem !== null) return { about: `${grown}: not measured. ${problem}`, tables: [], goals: goalsOf([]) }

  const databases: TestDatabase[] = []
  const sized: Sized[] = []
  try {
    for (const size of ['small', 'large'] as const) {
      const database = await createTestDatabase()
      databases.push(database)
      sized.push(await fill(bench, size, customers[size], database))
    }
    const compared = [...(await compareRequests(bench, sized)), await compareLogins(bench, sized)]
    return {
      about: `${grown} with ${TOKENS_EACH} tokens each, in two databases on one server, measured in turns. A
ratio compares the median latencies of one round. A hit uses one cached token; a miss looks up the token of another
customer for each request. The database work of a login finds a random customer by e-mail and replaces the login token.`,
      tables: [latencies(compared), sizes(sized)],
      goals: goalsOf(compared),
    }
  } finally {
    for (const { drop } of databases) await drop()
  }
}

async function fill(
  bench: Bench,
  size: Sized['size'],
  customers: number,
  database: TestDatabase,
): Promise<Sized> {
  const tokensFile = join(bench.folder, `tokens-${size}.txt`)
  const filled = await fillDatabase({
    url: database.url,
    customers,
    tokensFile,
    onProgress(percent, doing) {
      if (percent % 10 === 0) bench.progress(`growth: ${grouped(customers)} customers, ${percent} % ${doing}`)
    },
  })
  // Else it is still being written to the disk while the rounds run; not every role may ask for it.
  await database.sql('checkpoint').catch(() => {})
  return { size, customers, database, tokensFile, filled, megabytes: await megabytesOf(database) }
}

async function megabytesOf({ sql }: TestDatabase): Promise<readonly number[]> {
  const [row] = await sql<{ bytes: string[] }>(`
    select array[pg_table_size('customers'), pg_table_size('login_tokens'),
                 pg_indexes_size('customers') + pg_indexes_size('login_tokens')] as bytes`)
  return row?.bytes.map((bytes) => Number(bytes) / 1e6) ?? []
}

async function compareRequests(bench: Bench, sized: readonly Sized[]): Promise<readonly Compared[]> {
  const kinds = [
    { aim: 'hit', env: {} },
    { aim: 'miss', env: { TOKEN_CACHE_TTL: '0s' } },
  ] as const
  const candidates = kinds.flatMap(({ aim, env }) =>
    sized.map(({ size, database }) => product(bench, `${aim} ${size}`, database.url, env)),
  )
  const pairs = kinds.flatMap(({ aim }) => CONNECTIONS.map((connections) => ({ aim, connections })))
  const nameOf = (aim: string, connections: number, size: Sized['size']) => `${aim} ${connections} ${size}`

  const carried = await withServers(candidates, bench.folder, (served) =>
    carry(
      bench,
      pairs.flatMap(({ aim, connections }) =>
        sized.map(
          ({ size, tokensFile }): Contestant => ({
            name: nameOf(aim, connections, size),
            url: urlOf(served, `${aim} ${size}`),
            request: 'POST /api/me',
            ...(aim === 'miss' ? { tokens: tokensFile } : { token: firstLineOf(tokensFile) }),
            connections,
            seconds: bench.quick ? 1 : 3,
          }),
        ),
      ),
    ),
  )
  return pairs.map(({ aim, connections }) => {
    const latency = (size: Sized['size']) =>
      (carried.get(nameOf(aim, connections, size)) ?? []).map(({ p50Ms }) => p50Ms)
    const name = `${connections} connection${connections === 1 ? '' : 's'}`
    return { aim, name, smallMs: latency('small'), largeMs: latency('large') }
  })
}

async function compareLogins(bench: Bench, sized: readonly Sized[]): Promise<Compared> {
  const rounds = bench.quick ? 3 : 7
  const latencies = { small: [] as number[], large: [] as number[] }
  const pools = sized.map((of) => ({
    ...of,
    pool: openPool({ url: of.database.url, max: 1, prepared: true, onEvent() {} }),
  }))
  try {
    for (const { pool, customers } of pools) await loginMs(pool, customers, 100)
    for (let round = 0; round < rounds; round++) {
      for (const { size, pool, customers } of inOrder(pools, round)) {
        bench.progress(`round ${round + 1} of ${rounds}: logins ${size}`)
        latencies[size].push(await loginMs(pool, customers, bench.quick ? 300 : 2000))
      }
    }
  } finally {
    for (const { pool } of pools) await pool.close()
  }
  return { aim: 'login', name: 'one at a time', smallMs: latencies.small, largeMs: latencies.large }
}

/** The median latency of what a login asks of the database, over so many customers at random. */
async function loginMs(pool: DatabasePool, customers: number, logins: number): Promise<number> {
  const { findByEmail } = postgresCustomers(pool)
  const { replace } = postgresLoginTokens(pool)
  const latencies: number[] = []
  while (latencies.length < logins) {
    const number = Math.floor(Math.random() * customers)
    // The misses need those tokens.
    if (isKnown(number, customers)) continue
    const digest = aDigest()
    const beganMs = performance.now()
    const found = await findByEmail(emailOf(number), WAIT_MS)
    if (found === null) throw new Error(`${emailOf(number)} is not in the database.`)
    const token = aLoginToken({ customerId: found.customer.id })
    const replaced = await replace({ token, digest, verifiedHash: found.passwordHash ?? '' }, WAIT_MS)
    latencies.push(performance.now() - beganMs)
    if (replaced !== 1) throw new Error(`The login of ${emailOf(number)} replaced ${replaced} tokens.`)
  }
  return spreadOf(latencies).median
}

function latencies(compared: readonly Compared[]): Table {
  return {
    head: ['measurement', 'small, p50 in ms', 'large, p50 in ms', 'ratio'],
    rows: compared.map((one) => [
      `${one.aim}, ${one.name}`,
      shownSpread(one.smallMs, 3),
      shownSpread(one.largeMs, 3),
      shownSpread(ratiosOf(one), 2),
    ]),
  }
}

function sizes(sized: readonly Sized[]): Table {
  return {
    head: [
      'customers',
      'tokens',
      'customers, MB',
      'tokens, MB',
      'indexes, MB',
      'filled in, s',
      'rows copied a second',
    ],
    rows: sized.map(({ customers, megabytes, filled }) => [
      grouped(customers),
      grouped(customers * TOKENS_EACH),
      ...megabytes.map((size) => grouped(size, 1)),
      grouped(filled.seconds, 1),
      grouped(filled.rowsPerSecond),
    ]),
  }
}

/** Reached where each way to measure it has it: at one connection, and at several. */
function goalsOf(compared: readonly Compared[]): readonly Goal[] {
  return AIMS.map(({ id, what, most }) => {
    const of = compared.filter(({ aim }) => aim === id)
    return {
      id: 'P11',
      what: `p50 of ${what}, ratio to ${grouped(FEW)} customers`,
      goal: `≤ ${most}×`,
      measured:
        of.map((one) => `${grouped(spreadOf(ratiosOf(one)).median, 2)}×, ${one.name}`).join('; ') ||
        'not measured',
      isReached: of.length > 0 && of.every((one) => spreadOf(ratiosOf(one)).median <= most),
    }
  })
}

/** Of each round the latency on the large database as a share of that on the small one. */
function ratiosOf({ smallMs, largeMs }: Compared): readonly number[] {
  return largeMs.map((ms, round) => ms / (smallMs[round] ?? Number.NaN))
}

function urlOf(served: readonly Served[], name: string): string {
  const found = served.find((candidate) => candidate.name === name)
  if (found === undefined) throw new Error(`${name} does not serve.`)
  return found.url
}

function firstLineOf(file: string): string {
  return readFileSync(file, 'utf8').split('\n', 1)[0] ?? ''
}
