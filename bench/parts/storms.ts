import { join } from 'node:path'
import { bcryptPasswordHasher } from '../../src/adapters/bcrypt/password-hasher.ts'
import { hashingThreads } from '../../src/adapters/config/hashing-threads.ts'
import { createTestDatabase } from '../../tests/support/database.ts'
import { createLogins, createTokens, PASSWORD } from '../data.ts'
import { meRequest, runClient, type Stream } from '../load.ts'
import { type Bench, inOrder, type Part } from '../part.ts'
import { output } from '../processes.ts'
import { product } from '../product.ts'
import { goal, type Samples } from '../samples.ts'
import { withServer } from '../server.ts'

const COST = 10
const LOGINS = 32
const ME_PER_SECOND = 500
const PIPELINED_BYTES = 60 * 1024
const PIPELINING_CONNECTIONS = 20

const BCRYPT = 'bcrypt alone'
const KINDS = ['idle', 'logins', 'logins and me', 'pipelining and me'] as const

/** Logins, the requests of others during a storm of logins, and beside a client that pipelines. */
export const storms: Part = { id: 'storms', title: 'Storms', isLong: true, open }

async function open(bench: Bench) {
  const database = await createTestDatabase()
  const [secret = ''] = await createTokens(database, 1)
  const me: Stream = { requests: [meRequest(secret)], connections: 64, ratePerSecond: ME_PER_SECOND }
  const logins: Stream = {
    requests: await createLogins(database, { count: LOGINS, cost: COST }),
    connections: LOGINS,
    isRetried: true,
  }
  const pipelined = Math.floor(PIPELINED_BYTES / meRequest(secret).length)
  const pipelining: Stream = {
    requests: [meRequest(secret)],
    connections: PIPELINING_CONNECTIONS,
    pipelined,
  }
  const passwordHash = await bcryptPasswordHasher({ cost: COST }).hash(PASSWORD)
  const threads = hashingThreads({ hashingConcurrency: null, workers: 1, threadPoolSize: 4 })
  const candidate = product(bench, database.url, { env: { BCRYPT_COST: String(COST) } })
  const options = { seconds: bench.isQuick ? 1 : 4 }
  return {
    about: `Default settings, except for bcrypt cost ${COST}: ${threads} hashing thread${threads === 1 ? '' : 's'} here. ${LOGINS} customers log in
repeatedly, and other clients call \`me\` ${ME_PER_SECOND} times a second, by the clock. For comparison, a separate process runs bcrypt alone
with the same concurrency. Then another client pipelines ${PIPELINED_BYTES / 1024} KiB of requests at once on each of ${PIPELINING_CONNECTIONS} connections. No process is
pinned to a processor, and the clients run on the same machine.`,
    async round({ number, node, samples }) {
      await withServer(candidate, bench, node, async ({ url }) => {
        // As fast as possible, so that Node has compiled the code before latencies count.
        await runClient(bench, url, { warm: { requests: me.requests, connections: 64 } }, options)
        for (const kind of inOrder(KINDS, number)) {
          bench.progress(`round ${number + 1}, Node ${node.version}: ${kind}`)
          const [logged, called] = await Promise.all([
            kind.startsWith('logins') ? runClient(bench, url, { logins }, options) : null,
            kind === 'logins' ? null : runClient(bench, url, { me }, options),
            kind.startsWith('pipelining') ? runClient(bench, url, { pipelining }, options) : null,
          ])
          if (called?.me.failed) throw new Error(`${called.me.failed} calls of me failed: ${kind}.`)
          samples.add(kind, {
            logins: logged?.logins.perSecond ?? null,
            refused: logged?.logins.refused ?? null,
            p50Ms: called?.me.p50Ms ?? null,
            p99Ms: called?.me.p99Ms ?? null,
          })
        }
      })
      bench.progress(`round ${number + 1}, Node ${node.version}: ${BCRYPT}`)
      const program = join(import.meta.dirname, '../servers/raw-bcrypt.js')
      const args = [passwordHash, String(threads), String(options.seconds)]
      samples.add(BCRYPT, { logins: Number(await output(bench, [node.path, program, ...args])) })
    },
    report: (samples) => ({ tables: [table(samples)], goals: goals(samples) }),
    close: database.drop,
  } satisfies Awaited<ReturnType<Part['open']>>
}

function table(samples: Samples) {
  return {
    head: ['load', 'logins per second', '503 per round', 'me: p50, ms', 'me: p99, ms'],
    rows: [BCRYPT, ...KINDS].map((name) => [
      name,
      samples.show(name, 'logins', 1),
      samples.show(name, 'refused'),
      samples.show(name, 'p50Ms', 2),
      samples.show(name, 'p99Ms', 2),
    ]),
  }
}

function goals(samples: Samples) {
  const logins = (kind: string) => samples.ratios(kind, BCRYPT, 'logins')
  const p99 = (kind: string) => samples.ratios(kind, 'idle', 'p99Ms')
  return [
    goal({ id: 'P8', what: 'logins, ratio to bcrypt alone' }, logins('logins'), { min: 0.95 }),
    goal({ id: 'P9', what: 'p99 of me during logins, ratio to idle' }, p99('logins and me'), { max: 2.5 }),
    goal({ id: 'P9', what: 'logins beside me, ratio to bcrypt alone' }, logins('logins and me'), {
      min: 0.9,
    }),
    goal({ id: 'P14', what: 'p99 of me beside pipelining, ratio to idle' }, p99('pipelining and me'), {
      max: 3,
    }),
  ]
}
