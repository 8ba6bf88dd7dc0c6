import { newServiceSecret } from '../../src/adapters/node-crypto/service-secrets.ts'
import { createVerifier, type Verifier } from '../../src/package/verify.ts'
import { createTestDatabase } from '../../tests/support/database.ts'
import { GATEWAYS } from '../../tests/support/gateways.ts'
import { until } from '../../tests/support/until.ts'
import { createTokens } from '../data.ts'
import { httpRequest, type Load, logoutRequest, measure, runClient } from '../load.ts'
import { type Bench, inOrder, type Part } from '../part.ts'
import { product } from '../product.ts'
import { goal, type Samples } from '../samples.ts'
import { bare, type RunningServer, withServer } from '../server.ts'

const VERIFIERS = [0, 10, 100]
const LOGOUT_CONNECTIONS = 8
const WARM_LOGOUTS = 40
const BARE = 'bare node:http'
const EMPTY = 'bare node:http without a body'
const LATCHKEY = 'Latchkey'

/** What other processes and gateways pay: introspection, forward authentication, and logouts beside verifiers. */
export const verification: Part = { id: 'verification', title: 'Verification elsewhere', isLong: true, open }

async function open(bench: Bench) {
  const database = await createTestDatabase()
  const [secret = ''] = await createTokens(database, 1)
  const service = newServiceSecret()
  const env = {
    PORT: '0',
    DATABASE_URL: database.url,
    TRUST_PROXY: '1',
    SERVICE_TOKENS: `bench[introspect verify]=${service}`,
  }
  const latchkey = product(bench, database.url, { env })
  const candidates = [
    [BARE, bare],
    [LATCHKEY, { ...latchkey, isPinned: true }],
  ] as const
  const empty = { ...bare, env: { EMPTY: '1' } }
  const form = { 'Content-Type': 'application/x-www-form-urlencoded', Authorization: `Bearer ${service}` }
  const load: Load = { requests: [], connections: 64, seconds: bench.isQuick ? 1 : 2 }
  const introspect: Load = {
    ...load,
    requests: [httpRequest('POST /introspect', form, `token=${secret}`)],
  }
  // nginx, the application, Latchkey and the load share the processors.
  const get: Load = {
    ...load,
    requests: [httpRequest('GET /', { Authorization: `Bearer ${secret}` })],
    isPinned: false,
  }
  return {
    about: `\`/introspect\`: one cached token over 64 connections, beside bare node:http. \`auth_request\`: nginx with
\`deploy/gateways/nginx.conf\` in front of a bare application; it asks \`/forward-auth\` of Latchkey, or a bare node:http server that
always responds with 200: nginx closes the connection after a response with a body. Logouts: ${LOGOUT_CONNECTIONS} at a time, while verifiers are connected, all in one process.`,
    async round({ number, node, samples }) {
      const step = (text: string) => bench.progress(`round ${number + 1}, Node ${node.version}: ${text}`)
      for (const [name, candidate] of inOrder(candidates, number)) {
        step(`introspection, ${name}`)
        await withServer(candidate, bench, node, async (server) => {
          samples.add(`introspect ${name}`, await measure(bench, server, introspect))
        })
      }
      const gateway = GATEWAYS.find((one) => one.name === 'nginx' && one.isInstalled)
      if (gateway !== undefined)
        for (const [name, candidate] of inOrder([...candidates, [EMPTY, empty] as const], number)) {
          step(`auth_request, ${name}`)
          const unpinned = { ...candidate, isPinned: false }
          await withServer({ ...bare, isPinned: false }, bench, node, (application) =>
            withServer(unpinned, bench, node, async (server) => {
              const nginx = await gateway.open(portOf(server), portOf(application))
              try {
                samples.add(`gateway ${name}`, await measure(bench, { ...server, url: nginx.url }, get))
              } finally {
                await nginx.close()
              }
            }),
          )
        }
      for (const count of inOrder(VERIFIERS, number)) {
        step(`logouts, ${count} verifiers`)
        const requests = (await createTokens(database, bench.isQuick ? 100 : 1000)).map(logoutRequest)
        await withServer(latchkey, bench, node, ({ url }) =>
          withVerifiers(url, count, async () => {
            // The first ones run code that Node has not compiled yet.
            await logOut(url, requests.slice(0, WARM_LOGOUTS))
            samples.add(`logout ${count}`, await logOut(url, requests.slice(WARM_LOGOUTS)))
          }),
        )
      }
    },
    report: (samples) => ({ tables: tables(samples), goals: goals(samples) }),
    close: database.drop,
  } satisfies Awaited<ReturnType<Part['open']>>

  async function logOut(url: string, requests: readonly string[]) {
    const stream = { requests, connections: LOGOUT_CONNECTIONS, isOnce: true }
    const { result } = await runClient(bench, url, { result: stream }, { seconds: 0, warmSeconds: 0 })
    if (result.failed > 0) throw new Error(`${result.failed} logouts failed.`)
    return result
  }

  async function withVerifiers(url: string, count: number, use: () => Promise<void>): Promise<void> {
    const verifiers: Verifier[] = Array.from({ length: count }, () =>
      createVerifier({ url, serviceToken: service }),
    )
    try {
      await until(() => verifiers.every((verifier) => verifier.isCaching()))
      await use()
    } finally {
      await Promise.all(verifiers.map((verifier) => verifier.close()))
    }
  }
}

function tables(samples: Samples) {
  const rows = ['introspect', 'gateway'].map((kind) => [
    kind === 'introspect' ? '`/introspect`' : '`auth_request` of nginx',
    ...[LATCHKEY, BARE, EMPTY].map((name) => samples.show(`${kind} ${name}`, 'perSecond')),
  ])
  return [
    { head: ['requests per second', LATCHKEY, BARE, EMPTY], rows },
    {
      head: ['verifiers', 'logouts per second', 'p50, ms', 'p99, ms'],
      rows: VERIFIERS.map((count) => [
        String(count),
        samples.show(`logout ${count}`, 'perSecond'),
        samples.show(`logout ${count}`, 'p50Ms', 1),
        samples.show(`logout ${count}`, 'p99Ms', 1),
      ]),
    },
  ]
}

function goals(samples: Samples) {
  const ratio = (kind: string, to = BARE) => samples.ratios(`${kind} ${LATCHKEY}`, `${kind} ${to}`)
  return [
    goal({ id: 'V1', what: '`/introspect`, of bare node:http' }, ratio('introspect'), { min: 0.6 }),
    goal({ id: 'V2', what: '`/forward-auth` through nginx, of a bare server' }, ratio('gateway'), {
      min: 0.9,
    }),
    goal(
      { id: 'V2', what: '`/forward-auth` through nginx, of a bare server that sends no body' },
      ratio('gateway', EMPTY),
      {
        min: 0.9,
      },
    ),
    ...VERIFIERS.map((count) =>
      goal(
        { id: 'V3', what: `p99 of a logout, verifiers: ${count}, ms` },
        samples.values(`logout ${count}`, 'p99Ms'),
        {
          max: 1100,
          digits: 1,
        },
      ),
    ),
  ]
}

function portOf({ url }: RunningServer): number {
  return Number(new URL(url).port)
}
