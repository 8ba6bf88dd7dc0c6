import { join } from 'node:path'
import { createTestDatabase } from '../../tests/support/database.ts'
import { bare, type Candidate, LOAD_CPU, product, withServers } from '../candidates.ts'
import { makeToken } from '../data.ts'
import { load } from '../load.ts'
import { cpuSecondsOf } from '../machine.ts'
import { type Bench, type Findings, type Goal, grouped, type Part, shownSpread, spreadOf } from '../part.ts'
import { sharesOf } from '../profile.ts'
import { type Contestant, carry, medianP99, perSecondOf, ratios } from '../rounds.ts'

const BARE = 'bare node:http'
const PRODUCT = 'Latchkey'
const LOGGING = 'Latchkey, every request logged'
const JUNK = 'Latchkey, tokens with a wrong checksum'
const BARE_ALONE = 'bare node:http, 1 connection'
const PRODUCT_ALONE = 'Latchkey, 1 connection'

/** No other day and no other machine takes P1 so far down. */
const BROKEN_BELOW = 0.65

/** What a request costs whose token is kept, beside a server that does nothing. */
export const me: Part = { id: 'me', title: 'Cached validations', run }

async function run(bench: Bench): Promise<Findings> {
  const database = await createTestDatabase()
  try {
    const { secret } = await makeToken(database)
    const bound = (name: string, env: Record<string, string> = {}): Candidate => ({
      ...product(bench, name, database.url, env),
      isBound: true,
    })
    const partOf = await measureParts(bench, bound('profiled'), secret)
    const candidates = [bare, bound(PRODUCT), bound(LOGGING, { ACCESS_LOG: 'all' })]
    const carried = await withServers(candidates, bench.folder, ([node, plain, logging]) => {
      const common = { request: 'POST /api/me', token: secret, connections: 64, seconds: bench.quick ? 2 : 4 }
      const contestant = (name: string, url: string | undefined, different = {}): Contestant => ({
        name,
        url: url ?? '',
        ...common,
        cpu: LOAD_CPU,
        ...different,
      })
      return carry(bench, [
        contestant(BARE, node?.url),
        contestant(PRODUCT, plain?.url),
        contestant(LOGGING, logging?.url),
        contestant(JUNK, plain?.url, { token: withWrongChecksum(secret), status: 401 }),
        contestant(BARE_ALONE, node?.url, { connections: 1 }),
        contestant(PRODUCT_ALONE, plain?.url, { connections: 1 }),
      ])
    })
    return {
      about: `\`POST /api/me\` with one token, repeated over 64 keep-alive connections. Server and load each run on one
processor. Bare node:http sends 178 bytes with two headers and does nothing else; \`me\` sends about 290 bytes with five
headers. Bare node:http is the upper limit of one process.`,
      tables: [
        {
          head: ['server', 'requests a second', 'ratio to bare', 'p99, ms'],
          rows: [...carried.keys()].map((name) => [
            name,
            shownSpread(perSecondOf(carried, name)),
            shownSpread(ratios(carried, name, name.endsWith('1 connection') ? BARE_ALONE : BARE), 2),
            grouped(medianP99(carried, name), 2),
          ]),
        },
        {
          head: ['where the time of a request goes', 'µs', 'share'],
          rows: partOf,
        },
      ],
      goals: [
        share('P1', 'default settings, ratio to bare', 0.75, PRODUCT, BARE),
        share('P2', 'every request logged, ratio to bare', 0.65, LOGGING, BARE),
        share('P5', 'one connection, ratio to bare', 0.92, PRODUCT_ALONE, BARE_ALONE),
        share('P7', 'tokens with a wrong checksum, ratio to bare', 0.8, JUNK, BARE),
      ],
    }

    function share(id: string, what: string, aim: number, name: string, to: string): Goal {
      const measured = ratios(carried, name, to)
      return {
        id,
        what,
        goal: `≥ ${aim}`,
        measured: shownSpread(measured, 2),
        isReached: spreadOf(measured).median >= aim,
        isBroken: id === 'P1' && spreadOf(measured).median < BROKEN_BELOW,
      }
    }
  } finally {
    await database.drop()
  }
}

/** Microseconds of the processor that one request takes, by part, from a profile of a server under the same load. */
async function measureParts(
  bench: Bench,
  candidate: Candidate,
  token: string,
): Promise<readonly (readonly string[])[]> {
  const folder = join(bench.folder, 'profile')
  const profiled = { ...candidate, program: ['--cpu-prof', `--cpu-prof-dir=${folder}`, ...candidate.program] }
  const common = { request: 'POST /api/me', token, connections: 64 }
  let usEach = 0
  await withServers([profiled], bench.folder, async ([served]) => {
    if (served === undefined) return
    await load({ url: served.url, ...common, seconds: 1 })
    const before = cpuSecondsOf(served.pid)
    const seconds = bench.quick ? 2 : 6
    const { perSecond } = await load({
      url: served.url,
      ...common,
      seconds,
      cpu: LOAD_CPU,
    })
    usEach = ((cpuSecondsOf(served.pid) - before) / (perSecond * seconds)) * 1e6
  })
  return [...sharesOf(folder)].map(([part, share]) => [
    part,
    grouped(share * usEach, 1),
    `${grouped(share * 100)} %`,
  ])
}

function withWrongChecksum(secret: string): string {
  return secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0')
}
