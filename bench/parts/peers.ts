import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestDatabase } from '../../tests/support/database.ts'
import { bare, type Candidate, LOAD_CPU, product, type Served, withServers } from '../candidates.ts'
import { makeToken } from '../data.ts'
import { BENCH, installPackages } from '../packages.ts'
import { type Bench, type Findings, type Goal, type Part, shownSpread, spreadOf } from '../part.ts'
import { type Contestant, carry, perSecondOf, ratios } from '../rounds.ts'

const PRODUCT = 'Latchkey'
const LRU = 'Fastify, lru-cache'
const FASTIFY = 'Fastify, PostgreSQL'
const HONO = 'Hono, PostgreSQL'
const EXPRESS = 'Express, passport-http-bearer, PostgreSQL'
const BETTER_AUTH = 'better-auth, PostgreSQL'

/** Those that answer from Latchkey's own tables. */
const PROGRAMS: Readonly<Record<string, string>> = {
  [LRU]: 'fastify-lru.js',
  [FASTIFY]: 'fastify-postgres.js',
  [HONO]: 'hono-postgres.js',
  [EXPRESS]: 'express-passport.js',
}

/** What the same call costs in applications that are written by hand with what others use. */
export const peers: Part = { id: 'peers', title: 'Comparison with other servers', isLong: true, run }

async function run(bench: Bench): Promise<Findings> {
  await installPackages(bench)
  const database = await createTestDatabase()
  const ofBetterAuth = await createTestDatabase({ migrated: false })
  try {
    const { secret } = await makeToken(database)
    const candidate = (name: string, program: readonly string[], url = database.url): Candidate => ({
      name,
      program,
      env: { PORT: '0', DATABASE_URL: url },
      isBound: true,
    })
    const candidates = [
      bare,
      { ...product(bench, PRODUCT, database.url), isBound: true },
      ...Object.entries(PROGRAMS).map(([name, file]) => candidate(name, [join(BENCH, 'peers', file)])),
      candidate(BETTER_AUTH, [join(BENCH, 'peers/better-auth.js')], ofBetterAuth.url),
    ]
    const carried = await withServers(candidates, bench.folder, async (served) => {
      const contestants = served.map((server) => contestantOf(server, secret, bench.quick ? 1 : 3))
      await compareAnswers(contestants)
      // Some of them need seconds of load before they are at their best.
      return carry(bench, contestants, { warmSeconds: bench.quick ? 1 : 8 })
    })
    const times = (name: string) => ratios(carried, PRODUCT, name)
    const goal = (id: string, aim: number, name: string): Goal => ({
      id,
      what: `requests a second, as a multiple of ${name}`,
      goal: `≥ ${aim}×`,
      measured: shownSpread(times(name), aim < 10 ? 2 : 1),
      isReached: spreadOf(times(name)).median >= aim,
    })
    return {
      about: `A \`me\` route with one token, repeated over 64 keep-alive connections. Server and load each run on one
processor, and the servers take turns in every round. Latchkey runs with its default settings. The other servers are minimal
programs without logs, metrics or additional headers (\`bench/peers\`); they return the same response from the same tables,
except better-auth, which has its own. Versions: ${versions()}.`,
      tables: [
        {
          head: ['server', 'requests a second', 'ratio to bare', 'Latchkey, multiple of this'],
          rows: [...carried.keys()].map((name) => [
            name,
            shownSpread(perSecondOf(carried, name)),
            shownSpread(ratios(carried, name, bare.name), 3),
            name === PRODUCT ? '' : shownSpread(times(name), 2),
          ]),
        },
      ],
      goals: [
        goal('P3', 1.2, LRU),
        goal('P4', 3, FASTIFY),
        goal('P4', 3, HONO),
        goal('P4', 11, EXPRESS),
        goal('P4', 60, BETTER_AUTH),
      ],
      chart: {
        title: 'me, 64 connections, one process on one processor',
        unit: 'requests a second',
        bars: [...carried.keys()].map((name) => ({
          name,
          value: spreadOf(perSecondOf(carried, name)).median,
        })),
      },
    }
  } finally {
    await database.drop()
    await ofBetterAuth.drop()
  }
}

/** better-auth tells its own request and token when it starts. */
function contestantOf({ name, url, firstWords }: Served, secret: string, seconds: number): Contestant {
  return {
    name,
    url,
    connections: 64,
    seconds,
    cpu: LOAD_CPU,
    ...(name === BETTER_AUTH
      ? { request: wordOf(firstWords, 'request'), token: wordOf(firstWords, 'token') }
      : { request: 'POST /api/me', token: secret }),
  }
}

function wordOf(firstWords: string, key: string): string {
  const word = new RegExp(`"${key}":"([^"]+)"`).exec(firstWords)?.[1]
  assert(word, `No ${key} in: ${firstWords}`)
  return word
}

/** Throws unless each does the work: nobody is compared with who answers something else. */
async function compareAnswers(contestants: readonly Contestant[]): Promise<void> {
  const answers = new Map<string, { readonly [key: string]: unknown }>()
  for (const { name, url, request, token } of contestants) {
    const [method = '', path = ''] = request.split(' ')
    const response = await fetch(url + path, { method, headers: { Authorization: `Bearer ${token}` } })
    assert.equal(response.status, 200, name)
    answers.set(name, (await response.json()) as { readonly [key: string]: unknown })
  }
  for (const name of Object.keys(PROGRAMS)) assert.deepEqual(answers.get(name), answers.get(PRODUCT), name)
  // It answers null with 200 to whom it does not know.
  assert.ok(answers.get(BETTER_AUTH)?.session, BETTER_AUTH)
}

function versions(): string {
  const { dependencies } = JSON.parse(readFileSync(join(BENCH, 'package.json'), 'utf8'))
  return Object.entries(dependencies)
    .filter(([name]) => !['autocannon', 'pg'].includes(name))
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')
}
