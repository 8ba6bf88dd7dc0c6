import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bcryptPasswordHasher } from '../../src/adapters/bcrypt/password-hasher.ts'
import { createTestDatabase, type TestDatabase } from '../../tests/support/database.ts'
import { product, withServers } from '../candidates.ts'
import { makeToken } from '../data.ts'
import { interruption } from '../interruption.ts'
import { type Bench, type Findings, grouped, inOrder, type Part, shownSpread, spreadOf } from '../part.ts'

const COST = 10
const PASSWORD = 'correct horse 9'
const CALLERS = 32
const ME_PER_SECOND = 500
/** As many as the service hashes at once by default: neither one processor nor one of libuv's four threads is for hashing. */
const DEFAULT_THREADS = Math.max(1, Math.min(availableParallelism() - 1, 3))
/** By default, and with all processors. */
const THREADS = [...new Set([DEFAULT_THREADS, Math.min(availableParallelism(), 3)])]

/** What logins cost, and what they cost others. */
export const logins: Part = { id: 'logins', title: 'Logins and concurrent requests', isLong: true, run }

/** What callers have seen in one round. */
interface Seen {
  readonly loginsPerSecond: number
  /** Logins that were told to come again. */
  readonly refused: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** What was measured with so many hashing threads, a figure a round. */
interface Measured {
  readonly threads: number
  readonly raw: number[]
  readonly alone: Seen[]
  readonly storm: Seen[]
  readonly idle: Seen[]
}

async function run(bench: Bench): Promise<Findings> {
  const database = await createTestDatabase()
  try {
    const passwordHash = await bcryptPasswordHasher({ cost: COST }).hash(PASSWORD)
    const emails = await makeCustomers(database, passwordHash)
    const { secret } = await makeToken(database)
    const seconds = bench.quick ? 2 : 4
    const rounds = bench.quick ? 2 : 7
    const all: Measured[] = []
    for (const threads of THREADS) {
      const measured: Measured = { threads, raw: [], alone: [], storm: [], idle: [] }
      all.push(measured)
      const env = { BCRYPT_COST: `${COST}`, HASHING_CONCURRENCY: `${threads}` }
      const candidate = product(bench, 'Latchkey', database.url, env)
      await withServers([candidate], bench.folder, async ([served]) => {
        const caller = { url: served?.url ?? '', token: secret, password: PASSWORD, seconds }
        const others = { ...caller, mePerSecond: ME_PER_SECOND }
        const measures = {
          raw: async () =>
            measured.raw.push(Number(await printedBy('raw-bcrypt.js', passwordHash, threads, seconds))),
          alone: async () => measured.alone.push(await seen({ ...caller, logins: emails, mePerSecond: 0 })),
          storm: async () => measured.storm.push(await seen({ ...others, logins: emails })),
          idle: async () => measured.idle.push(await seen({ ...others, logins: [] })),
        }
        await seen({ ...others, seconds: 1, logins: emails })
        for (let round = 0; round < rounds; round++) {
          bench.progress(`logins: ${threadsShown(threads)}, round ${round + 1} of ${rounds}`)
          for (const what of inOrder(['raw', 'alone', 'idle', 'storm'] as const, round))
            await measures[what]()
        }
      })
    }
    return {
      about: `${CALLERS} customers log in repeatedly at bcrypt cost ${COST}, while other clients call \`me\` ${ME_PER_SECOND} times a
second. For comparison, a separate process runs bcrypt alone with the same concurrency. No process is bound to a processor,
and the clients run on the same machine. The default here is ${threadsShown(DEFAULT_THREADS)}; \`HASHING_CONCURRENCY\` sets another.`,
      tables: [
        {
          head: ['load', 'hashing', 'logins a second', 'refused', 'me: p50, ms', 'me: p99, ms'],
          rows: all.flatMap(rowsOf),
        },
      ],
      goals: all.flatMap(goalsOf),
    }
  } finally {
    await database.drop()
  }
}

function rowsOf({ threads, raw, alone, storm, idle }: Measured): string[][] {
  const median = (seen: readonly Seen[], of: 'p50Ms' | 'p99Ms') =>
    grouped(spreadOf(seen.map((one) => one[of])).median, 1)
  const times = (seen: readonly Seen[]) => [median(seen, 'p50Ms'), median(seen, 'p99Ms')]
  const refused = (seen: readonly Seen[]) => grouped(seen.reduce((sum, one) => sum + one.refused, 0))
  const shown = threadsShown(threads)
  return [
    ['bcrypt alone', shown, shownSpread(raw, 1), '', '', ''],
    ['logins', shown, shownSpread(perSecond(alone), 1), refused(alone), '', ''],
    ['logins and me', shown, shownSpread(perSecond(storm), 1), refused(storm), ...times(storm)],
    ['me without logins', shown, '', '', ...times(idle)],
  ]
}

function goalsOf({ threads, raw, alone, storm, idle }: Measured): Findings['goals'] {
  const ofRaw = (seen: readonly Seen[]) =>
    perSecond(seen).map((value, round) => value / (raw[round] ?? Number.NaN))
  const slower = storm.map(({ p99Ms }, round) => p99Ms / (idle[round]?.p99Ms ?? Number.NaN))
  const shown = threadsShown(threads)
  return [
    {
      id: 'P8',
      what: `logins, ratio to bcrypt alone; ${shown}`,
      goal: '≥ 0.95',
      measured: shownSpread(ofRaw(alone), 2),
      isReached: spreadOf(ofRaw(alone)).median >= 0.95,
    },
    {
      id: 'P9',
      what: `p99 of me during logins, ratio to an idle service; ${shown}`,
      goal: '≤ 2.5',
      measured: shownSpread(slower, 2),
      isReached: spreadOf(slower).median <= 2.5,
    },
    {
      id: 'P9',
      what: `logins during calls of me, ratio to bcrypt alone; ${shown}`,
      goal: '≥ 0.90',
      measured: shownSpread(ofRaw(storm), 2),
      isReached: spreadOf(ofRaw(storm)).median >= 0.9,
    },
  ]
}

function perSecond(seen: readonly Seen[]): readonly number[] {
  return seen.map(({ loginsPerSecond }) => loginsPerSecond)
}

function threadsShown(threads: number): string {
  return threads === 1 ? 'one thread' : `${threads} threads`
}

async function makeCustomers({ sql }: TestDatabase, passwordHash: string): Promise<readonly string[]> {
  const rows = await sql(
    `insert into customers (id, email, name, password_hash, created_at)
     select gen_random_uuid(), 'caller-' || n || '@example.com', 'Ada Lovelace', $2, now()
       from generate_series(1, $1) as n
     returning email`,
    [CALLERS, passwordHash],
  )
  return rows.map(({ email }) => `${email}`)
}

async function seen(what: object): Promise<Seen> {
  return JSON.parse(await printedBy('storm.js', JSON.stringify(what)))
}

async function printedBy(program: string, ...args: readonly (string | number)[]): Promise<string> {
  const file = join(import.meta.dirname, '../servers', program)
  const options = { env: { ...process.env, NODE_ENV: 'production' }, signal: interruption.signal }
  return (await promisify(execFile)(process.execPath, [file, ...args.map(String)], options)).stdout
}
