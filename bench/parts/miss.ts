import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createTestDatabase } from '../../tests/support/database.ts'
import { LOAD_CPU, product, SERVER_CPU, withServers } from '../candidates.ts'
import { makeTokens } from '../data.ts'
import { type Answered, boundTo, load } from '../load.ts'
import { type Bench, type Findings, grouped, inOrder, type Part, shownSpread, spreadOf } from '../part.ts'

const TOKENS = 20_000

/** What a request costs whose token has to be looked up. */
export const miss: Part = { id: 'miss', title: 'Validations from the database', run }

async function run(bench: Bench): Promise<Findings> {
  const database = await createTestDatabase()
  try {
    const tokens = join(bench.folder, 'tokens')
    writeFileSync(tokens, (await makeTokens(database, TOKENS)).join('\n'))
    const seconds = bench.quick ? 2 : 4
    const rounds = bench.quick ? 2 : 7
    const carried: Answered[] = []
    const raw: number[] = []
    const candidate = {
      ...product(bench, 'Latchkey', database.url, { TOKEN_CACHE_TTL: '0s' }),
      isBound: true,
    }
    const measures = {
      async product(url: string) {
        carried.push(
          await load({ url, request: 'POST /api/me', tokens, connections: 64, seconds, cpu: LOAD_CPU }),
        )
      },
      async raw() {
        raw.push(await rawPool(database.url, tokens, seconds))
      },
    }
    await withServers([candidate], bench.folder, async ([served]) => {
      const url = served?.url ?? ''
      await load({ url, request: 'POST /api/me', tokens, connections: 64, seconds: 1 })
      for (let round = 0; round < rounds; round++) {
        bench.progress(`misses: round ${round + 1} of ${rounds}`)
        for (const what of inOrder(['product', 'raw'] as const, round)) await measures[what](url)
      }
    })
    const perSecond = carried.map((answered) => answered.perSecond)
    const ratios = perSecond.map((value, round) => value / (raw[round] ?? Number.NaN))
    return {
      about: `\`POST /api/me\` over 64 connections. Each request uses another of ${grouped(TOKENS)} tokens, and the cache is
disabled (\`TOKEN_CACHE_TTL=0s\`). For comparison, the database driver alone runs one named query per lookup, with 64 in
flight. The service batches the lookups of one turn of the event loop into one query.`,
      tables: [
        {
          head: ['measurement', 'lookups a second', 'p50, ms', 'p99, ms'],
          rows: [
            [
              'Latchkey over HTTP',
              shownSpread(perSecond),
              grouped(spreadOf(carried.map(({ p50Ms }) => p50Ms)).median, 1),
              grouped(spreadOf(carried.map(({ p99Ms }) => p99Ms)).median, 1),
            ],
            ['the driver alone', shownSpread(raw), '', ''],
          ],
        },
      ],
      goals: [
        {
          id: 'P6',
          what: 'every token a cache miss, ratio to the driver alone',
          goal: '≥ 1.1',
          measured: shownSpread(ratios, 2),
          isReached: spreadOf(ratios).median >= 1.1,
        },
      ],
    }
  } finally {
    await database.drop()
  }
}

async function rawPool(databaseUrl: string, tokens: string, seconds: number): Promise<number> {
  const program = join(import.meta.dirname, '../servers/raw-pool.js')
  const [command = '', ...args] = boundTo(SERVER_CPU, [process.execPath, program, tokens, String(seconds)])
  const env = { ...process.env, NODE_ENV: 'production', DATABASE_URL: databaseUrl }
  const { stdout } = await promisify(execFile)(command, args, { env })
  return Number(stdout)
}
