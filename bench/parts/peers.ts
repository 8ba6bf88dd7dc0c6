import assert from 'node:assert/strict'
import { createTestDatabase } from '../../tests/support/database.ts'
import { createTokens } from '../data.ts'
import { httpRequest, measure, meRequest } from '../load.ts'
import { peerProgram, peerVersions } from '../packages.ts'
import { type Bench, inOrder, type Part } from '../part.ts'
import { product } from '../product.ts'
import { goal } from '../samples.ts'
import { type Candidate, type RunningServer, withServer } from '../server.ts'
import { formatEstimate, median } from '../statistics.ts'
import { assertUsable } from '../usable.ts'

const LATCHKEY = 'Latchkey'
const BETTER_AUTH = 'better-auth, PostgreSQL'

/** Goal P4: the multiple of each server, and its program. */
const PEERS = [
  { name: 'Fastify, PostgreSQL', file: 'fastify-postgres.js', min: 3 },
  { name: 'Hono, PostgreSQL', file: 'hono-postgres.js', min: 3 },
  { name: 'Express, passport-http-bearer, PostgreSQL', file: 'express-passport.js', min: 11 },
  { name: BETTER_AUTH, file: 'better-auth.js', min: 60 },
] as const

/** The same request in applications that are written by hand with the usual packages. */
export const peers: Part = { id: 'peers', title: 'Comparison with other servers', isLong: true, open }

async function open(bench: Bench) {
  const database = await createTestDatabase()
  const betterAuthDatabase = await createTestDatabase({ migrated: false })
  const [secret = ''] = await createTokens(database, 1)
  const programs = new Map<string, string>()
  for (const { name, file } of PEERS) programs.set(name, await peerProgram(bench, file))
  const candidates = [
    product(bench, database.url, { isPinned: true }),
    ...PEERS.map(({ name }): Candidate => {
      const { url } = name === BETTER_AUTH ? betterAuthDatabase : database
      const env = { PORT: '0', DATABASE_URL: url }
      return { name, program: [programs.get(name) ?? ''], isPinned: true, env }
    }),
  ]
  return {
    about: `A \`me\` route with one cached token over 64 keep-alive connections. Latchkey has its default settings. The other
servers are minimal programs without log, metrics or additional headers (\`bench/peers\`). They return the same response from the same
tables, except better-auth, which has its own. Versions: ${peerVersions()}.`,
    async round({ number, node, samples }) {
      for (const candidate of inOrder(candidates, number)) {
        bench.progress(`round ${number + 1}, Node ${node.version}: ${candidate.name}`)
        await withServer(candidate, bench, node, async (server) => {
          const request = server.name === BETTER_AUTH ? await betterAuthRequest(server) : meRequest(secret)
          if (server.name !== BETTER_AUTH) await assertUsable(server.url, secret)
          const load = { requests: [request], connections: 64, seconds: bench.isQuick ? 1 : 3 }
          samples.add(server.name, await measure(bench, server, load))
        })
      }
    },
    report: (samples) => ({
      tables: [
        {
          head: ['server', 'per second', 'CPU, µs', 'Latchkey, multiple of this'],
          rows: samples
            .candidates()
            .map((name) => [
              name,
              samples.show(name, 'perSecond'),
              samples.show(name, 'cpuUs', 1),
              name === LATCHKEY ? '' : formatEstimate(samples.ratios(LATCHKEY, name), 2),
            ]),
        },
      ],
      goals: PEERS.map(({ name, min }) =>
        goal({ id: 'P4', what: `multiple of ${name}` }, samples.ratios(LATCHKEY, name), { min, digits: 1 }),
      ),
      bars: samples.candidates().map((name) => ({ name, value: median(samples.values(name, 'perSecond')) })),
    }),
    async close() {
      await database.drop()
      await betterAuthDatabase.drop()
    },
  } satisfies Awaited<ReturnType<Part['open']>>
}

/** Returns the session request that better-auth prints at its start, after a check of its response. */
async function betterAuthRequest({ url, output }: RunningServer): Promise<string> {
  const [, token = ''] = /"token":"([^"]+)"/.exec(output) ?? []
  const headers = { Authorization: `Bearer ${token}` }
  const response = await fetch(`${url}/api/auth/get-session`, { headers })
  // It returns null with status 200 for an unknown token.
  assert.ok(((await response.json()) as { readonly session?: unknown } | null)?.session, output)
  return httpRequest('GET /api/auth/get-session', headers)
}
