import { createTestDatabase, type TestDatabase } from '../../tests/support/database.ts'
import { checkOut } from '../check-out.ts'
import { createLogins, createTokens, withWrongChecksum } from '../data.ts'
import { type Load, logoutRequest, measure, meRequest, runClient } from '../load.ts'
import { type Bench, inOrder, type Part } from '../part.ts'
import { cpuSeconds } from '../processes.ts'
import { product } from '../product.ts'
import type { Samples } from '../samples.ts'
import { type Candidate, withServer } from '../server.ts'
import { estimate, formatEstimate } from '../statistics.ts'

const TOKENS = 20_000
const LOGIN_COST = 4
const NOW = 'this checkout'

const KINDS = ['cached me', 'uncached me', 'wrong checksum', 'login', 'logout'] as const
type Kind = (typeof KINDS)[number]

/** Compares this checkout with a commit. */
export function comparison(commit: string): Part {
  return { id: 'against', title: `This checkout and ${commit}`, open: (bench) => open(bench, commit) }
}

/** One of the two, with its own database: their schemas may differ. */
interface Version {
  readonly name: string
  readonly checkout?: string
  readonly database: TestDatabase
  readonly loads: Readonly<Record<Exclude<Kind, 'logout'>, Load>>
}

async function open(bench: Bench, commit: string) {
  bench.progress(`checking out ${commit}`)
  const other = await checkOut(bench, commit)
  const versions: Version[] = []
  try {
    versions.push(
      await prepare(bench, { name: NOW }),
      await prepare(bench, { name: commit, checkout: other.path }),
    )
  } catch (error) {
    await close()
    throw error
  }
  return {
    about: `Fresh processes of both in each round, in alternating order. A ratio is that of CPU per request, this checkout to ${commit}:
above 1 it became slower. \`login\` at bcrypt cost ${LOGIN_COST}; \`logout\` one at a time.`,
    async round({ number, node, samples }) {
      for (const version of inOrder(versions, number)) {
        const { name, database, loads } = version
        bench.progress(`round ${number + 1}, Node ${node.version}: ${name}`)
        await withServer(candidate(bench, version), bench, node, async (server) => {
          for (const kind of ['cached me', 'wrong checksum', 'login'] as const)
            samples.add(`${kind} ${name}`, await measure(bench, server, loads[kind]))
          const requests = (await createTokens(database, bench.isQuick ? 50 : 1000)).map(logoutRequest)
          const before = cpuSeconds(server.pid)
          const logouts = { requests, connections: 1, isOnce: true }
          const options = { seconds: 0, warmSeconds: 0, isPinned: true }
          const { result } = await runClient(bench, server.url, { result: logouts }, options)
          const cpuUs = ((cpuSeconds(server.pid) - before) / result.requests) * 1e6
          samples.add(`logout ${name}`, { ...result, cpuUs })
        })
        const uncached = candidate(bench, version, { TOKEN_CACHE_TTL: '0s' })
        await withServer(uncached, bench, node, async (server) => {
          samples.add(`uncached me ${name}`, await measure(bench, server, loads['uncached me']))
        })
      }
    },
    report: (samples) => ({ tables: [table(samples, commit)], goals: [] }),
    close,
  } satisfies Awaited<ReturnType<Part['open']>>

  async function close(): Promise<void> {
    for (const { database } of versions) await database.drop()
    await other.remove()
  }
}

/** Creates a database whose schema is that of the version. */
async function prepare(bench: Bench, version: Pick<Version, 'name' | 'checkout'>): Promise<Version> {
  bench.progress(`building ${version.name}`)
  const database = await createTestDatabase({ migrated: false })
  const node = { path: process.execPath, version: process.versions.node }
  await withServer(candidate(bench, { ...version, database }), bench, node, async () => {})
  const secrets = await createTokens(database, bench.isQuick ? 1000 : TOKENS)
  const [secret = ''] = secrets
  const cached = { requests: [meRequest(secret)], connections: 64, seconds: bench.isQuick ? 1 : 2 }
  const logins = await createLogins(database, { count: 1000, cost: LOGIN_COST })
  return {
    ...version,
    database,
    loads: {
      'cached me': cached,
      'uncached me': { ...cached, requests: secrets.map(meRequest) },
      'wrong checksum': { ...cached, requests: [meRequest(withWrongChecksum(secret))], status: 401 },
      login: { ...cached, requests: logins, connections: 8 },
    },
  }
}

function candidate(
  bench: Bench,
  { name, checkout, database }: Omit<Version, 'loads'>,
  env: Candidate['env'] = {},
): Candidate {
  return product(bench, database.url, {
    name,
    isPinned: true,
    env: { BCRYPT_COST: String(LOGIN_COST), ...env },
    ...(checkout && { checkout }),
  })
}

function table(samples: Samples, commit: string) {
  return {
    head: ['request', 'CPU, µs: now', commit, 'ratio', 'throughput, ratio', 'verdict'],
    rows: KINDS.map((kind) => {
      const [now, then] = [`${kind} ${NOW}`, `${kind} ${commit}`]
      const ratios = samples.ratios(now, then, 'cpuUs')
      return [
        kind,
        samples.show(now, 'cpuUs', 1),
        samples.show(then, 'cpuUs', 1),
        formatEstimate(ratios, 3),
        formatEstimate(samples.ratios(now, then), 3),
        verdict(ratios),
      ]
    }),
  }
}

/** A change counts when the whole interval is on one side of 1. */
function verdict(ratios: readonly number[]): string {
  const { low, high } = estimate(ratios)
  if (low > 1) return 'slower'
  return high < 1 ? 'faster' : 'no difference shown'
}
