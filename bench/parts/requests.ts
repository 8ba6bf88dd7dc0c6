import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestDatabase } from '../../tests/support/database.ts'
import { createLogins, createTokens, withWrongChecksum } from '../data.ts'
import { allocatedBytes, type Load, measure, meRequest } from '../load.ts'
import { peerProgram } from '../packages.ts'
import { type Bench, type Goal, inOrder, type NodeVersion, type Part, type Table } from '../part.ts'
import { output, pinned } from '../processes.ts'
import { product } from '../product.ts'
import { goal, type Samples } from '../samples.ts'
import { bare, type Candidate, withServer } from '../server.ts'
import { formatEstimate, median } from '../statistics.ts'
import { assertUsable } from '../usable.ts'

const TOKENS = 20_000
const LOGINS = 1000
const LOGIN_COST = 4
/** Allocations hardly vary. */
const ROUNDS_OF_ALLOCATIONS = 5
/** P1 falls below this on no machine and on no day, unless something is broken. */
const BROKEN_BELOW = 0.35

const BARE = 'bare node:http'
const FASTIFY = 'Fastify, lru-cache'
const LATCHKEY = 'Latchkey'
const DRIVER = 'the driver alone'

const KINDS = {
  cached: 'cached `me`',
  logged: 'cached `me`, every request logged',
  one: 'cached `me`, 1 connection',
  uncached: 'uncached `me`',
  junk: 'wrong checksum',
  login: 'login',
} as const
type Kind = keyof typeof KINDS

/** A candidate, and the loads that one process of it gets, in this order. */
interface Entry {
  readonly server: string
  readonly candidate: Candidate
  readonly kinds: readonly Kind[]
}

/** The cost of one request of each kind, beside a server that does nothing and one that is written by hand. */
export const requests: Part = { id: 'requests', title: 'Requests', open }

async function open(bench: Bench) {
  const fastify = await peerProgram(bench, 'fastify-lru.js')
  const database = await createTestDatabase()
  const secrets = await createTokens(database, TOKENS)
  const loads = createLoads(secrets, await createLogins(database, { count: LOGINS, cost: LOGIN_COST }), bench)
  const env = { PORT: '0', DATABASE_URL: database.url, BCRYPT_COST: String(LOGIN_COST) }
  const latchkey = (different: Record<string, string> = {}): Candidate =>
    product(bench, database.url, { isPinned: true, env: { ...env, ...different } })
  const peer = (different: Record<string, string> = {}): Candidate => ({
    name: FASTIFY,
    program: [fastify],
    isPinned: true,
    env: { ...env, ...different },
  })
  const entries: readonly Entry[] = [
    { server: BARE, candidate: bare, kinds: ['cached', 'one'] },
    { server: FASTIFY, candidate: peer(), kinds: ['cached', 'junk', 'login'] },
    { server: FASTIFY, candidate: peer({ CACHE_TTL_MS: '0' }), kinds: ['uncached'] },
    { server: LATCHKEY, candidate: latchkey(), kinds: ['cached', 'one', 'junk', 'login'] },
    { server: LATCHKEY, candidate: latchkey({ ACCESS_LOG: 'all' }), kinds: ['logged'] },
    { server: LATCHKEY, candidate: latchkey({ TOKEN_CACHE_TTL: '0s' }), kinds: ['uncached'] },
  ]
  return {
    about: `\`POST /api/me\` with one token over 64 keep-alive connections, or over 1. \`uncached\`: each request uses another of
${TOKENS} tokens, and the cache is disabled. \`wrong checksum\`: a token that is rejected before any lookup. \`login\`: bcrypt cost
${LOGIN_COST}, so that the work beside hashing is visible, over 8 connections. Bare node:http sends 180 bytes with two headers to every
request: it is the limit for one process. Fastify with lru-cache has no request ids, log or metrics, and accepts a revoked token until
its entry expires. The driver alone runs one named query for each lookup, 64 at once. CPU is user and system time of the server
process. Heap is the bytes allocated for a request between garbage collections (\`bench/probe.js\`), without buffers.`,
    async round({ number, node, samples }) {
      for (const { server, candidate, kinds } of inOrder(entries, number)) {
        await withServer(candidate, bench, node, async (running) => {
          if (server !== BARE) await assertUsable(running.url, secrets[0] ?? '')
          for (const kind of kinds) {
            bench.progress(`round ${number + 1}, Node ${node.version}: ${server}, ${KINDS[kind]}`)
            const figures = await measure(bench, running, loads[kind])
            const heap = number < ROUNDS_OF_ALLOCATIONS && (await allocatedBytes(bench, running, loads[kind]))
            samples.add(`${kind} ${server}`, { ...figures, heap: heap === false ? null : heap })
          }
        })
      }
      const perSecond = await measureDriver(bench, node, database.url, secrets)
      samples.add(`uncached ${DRIVER}`, { perSecond })
    },
    report: (samples) => ({ tables: [table(samples)], goals: goals(samples) }),
    close: database.drop,
  } satisfies Awaited<ReturnType<Part['open']>>
}

function createLoads(
  secrets: readonly string[],
  logins: readonly string[],
  { isQuick }: Bench,
): Readonly<Record<Kind, Load>> {
  const [secret = ''] = secrets
  const cached = { requests: [meRequest(secret)], connections: 64, seconds: isQuick ? 1 : 2 }
  return {
    cached,
    logged: cached,
    one: { ...cached, connections: 1 },
    uncached: { ...cached, requests: secrets.map(meRequest) },
    junk: { ...cached, requests: [meRequest(withWrongChecksum(secret))], status: 401 },
    login: { ...cached, requests: logins, connections: 8 },
  }
}

async function measureDriver(
  bench: Bench,
  node: NodeVersion,
  url: string,
  secrets: readonly string[],
): Promise<number> {
  const program = join(import.meta.dirname, '../servers/raw-pool.js')
  const file = join(bench.folder, 'secrets')
  writeFileSync(file, secrets.join('\n'))
  const command = pinned('server', [node.path, program, file, bench.isQuick ? '1' : '3'])
  return Number(await output(bench, command, { DATABASE_URL: url }))
}

function table(samples: Samples): Table {
  const rows = Object.entries(KINDS).flatMap(([kind, title]) =>
    [BARE, FASTIFY, LATCHKEY, DRIVER].flatMap((server) => {
      const name = `${kind} ${server}`
      if (samples.values(name, 'perSecond').length === 0) return []
      const reference = `${kind === 'one' ? 'one' : 'cached'} ${BARE}`
      return [
        [
          title,
          server,
          samples.show(name, 'perSecond'),
          formatEstimate(samples.ratios(name, reference), 2),
          samples.show(name, 'cpuUs', 1),
          samples.show(name, 'heap'),
          samples.show(name, 'p99Ms', 2),
        ],
      ]
    }),
  )
  return {
    head: ['request', 'server', 'per second', 'ratio to bare', 'CPU, µs', 'heap, bytes', 'p99, ms'],
    rows,
  }
}

function goals(samples: Samples): readonly Goal[] {
  const ratio = (kind: Kind, server: string, to: string) =>
    samples.ratios(`${kind} ${LATCHKEY}`, `${to} ${server}`)
  const p1 = ratio('cached', BARE, 'cached')
  const beyondBare = (server: string) =>
    samples.ratios(`cached ${server}`, `cached ${BARE}`, 'cpuUs').map((times) => times - 1)
  const fastify = beyondBare(FASTIFY)
  const beyond = beyondBare(LATCHKEY).map((more, round) => more / (fastify[round] ?? Number.NaN))
  const what = (id: string, what: string) => ({ id, what })
  return [
    {
      ...goal(what('P1', 'cached `me`, ratio to bare'), p1, { min: 0.78 }),
      isBroken: median(p1) < BROKEN_BELOW,
    },
    goal(what('P2', 'every request logged, ratio to bare'), ratio('logged', BARE, 'cached'), { min: 0.68 }),
    goal(what('P3', 'cached `me`, ratio to Fastify with lru-cache'), ratio('cached', FASTIFY, 'cached'), {
      min: 1,
    }),
    goal(what('P3', 'CPU beyond bare, ratio to Fastify with lru-cache'), beyond, { max: 1 }),
    goal(what('P5', '1 connection, ratio to bare'), ratio('one', BARE, 'one'), { min: 0.92 }),
    goal(what('P6', 'uncached `me`, ratio to the driver alone'), ratio('uncached', DRIVER, 'uncached'), {
      min: 1.1,
    }),
    goal(what('P6', 'uncached `me`, ratio to cached ones of Fastify'), ratio('uncached', FASTIFY, 'cached'), {
      min: 0.9,
    }),
    goal(what('P7', 'wrong checksum, ratio to bare'), ratio('junk', BARE, 'cached'), { min: 0.8 }),
  ]
}
