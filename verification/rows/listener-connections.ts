import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { TestDatabase } from '../../tests/support/database.ts'
import { hasPgBouncer } from '../../tests/support/pgbouncer.ts'
import type { RunningApp } from '../../tests/support/running-app.ts'
import { ENDLESS_LEASE, INSTANCE, NO_FORGETTING, OTHERS_NOT_WAITED_FOR } from '../naive-forms.ts'
import { withOwnServer } from '../own-server.ts'
import {
  expectCached,
  LEASE_MS,
  type Pair,
  refused,
  refusedInTime,
  terminate,
  untilCurrent,
  withPair,
} from '../pair.ts'
import { type Row, Skipped, type Trial } from '../row.ts'
import { kill, shown } from '../scene.ts'

const INVALIDATIONS = 'src/adapters/postgres/revocation/invalidations.ts'

/** The number of customers that log out at the same time. */
const LOGOUTS = 10

/** A fault in what an instance receives, and how it is ended. */
interface Fault {
  readonly name: string
  /** Whether the other instance cannot cache anything, before and after. */
  readonly stopsQueries?: boolean
  /** Whether the other instance cannot keep anything, before and after. */
  readonly neverHeals?: boolean
  fail?(pair: Pair): unknown
  mend?(pair: Pair): unknown
}

const NETWORK_FAULTS: readonly Fault[] = [
  {
    name: 'the listener connection is terminated',
    fail: ({ database }) => terminate(database, 'latchkey listener'),
  },
  {
    name: 'the heartbeats are terminated',
    fail: ({ database }) => terminate(database, 'latchkey heartbeat'),
  },
  { name: 'the listener connection is frozen', fail: ({ link }) => link.freeze(), mend: thaw },
  { name: 'the listener connection is half-open', fail: ({ link }) => link.strand() },
  {
    name: 'listener connection and queries are frozen',
    stopsQueries: true,
    fail: ({ link, queries }) => [link.freeze(), queries.freeze()],
    mend: thaw,
  },
]

/** The listener connection of an instance fails in each way that connections fail. */
export const linkRows: readonly Row[] = [
  {
    id: 'G9',
    promise:
      'a listener connection lost, frozen or half-open: revocations stay exact, no request fails, the cache recovers',
    sizes: { ci: 10, release: 100 },
    mutants: [NO_FORGETTING, ENDLESS_LEASE, OTHERS_NOT_WAITED_FOR],
    async run(trial) {
      for (const revocation of ['strict', 'prompt'] as const) {
        await withPair(trial, (pair) => underFaults(trial, pair, NETWORK_FAULTS, revocation), { revocation })
      }
    },
  },
  {
    id: 'G9b',
    promise:
      'the backend of a listener connection is stopped by SIGSTOP: the same, and a logout waits for a lease at most',
    sizes: { ci: 10, release: 100 },
    mutants: [ENDLESS_LEASE, OTHERS_NOT_WAITED_FOR],
    run: (trial) =>
      withOwnServer(trial, async ({ database }) => {
        for (const pooled of hasPgBouncer() ? (['nothing', 'queries'] as const) : (['nothing'] as const)) {
          await withPair(trial, (pair) => underFaults(trial, pair, stoppedBackends(database)), {
            database,
            pooled,
          })
        }
      }),
  },
  {
    id: 'G9d',
    promise: 'a role that may only connect forges messages of the protocol: revocations stay exact',
    sizes: { ci: 10, release: 250 },
    mutants: [
      {
        name: 'messages on the public channel are believed',
        file: INSTANCE,
        find: "else if (message === 'heartbeat') others.receivedHeartbeat(NAMELESS)",
        replace: "else if (payload.startsWith('1 ')) this.received(payload)",
      },
    ],
    run: (trial) =>
      withPair(trial, (pair) =>
        withStranger(pair.database, (forging) => underFaults(trial, pair, [forging])),
      ),
  },
  {
    id: 'G9c',
    promise:
      'queries through PgBouncer in transaction mode, with and without a separate listener connection: the same',
    sizes: { ci: 10, release: 100 },
    mutants: [
      {
        name: 'heartbeats use the listener connection',
        file: INVALIDATIONS,
        find: 'send: publisher.publish',
        replace:
          "send: (payload) => (payload.includes(' beat ') ? instance.sendOnListener : publisher.publish)(payload)",
        and: {
          find: 'onUp: () => instance.connected(),',
          replace: `onUp(client) {
      const sendOnListener = (payload) => void client.query("select latchkey_say('" + payload + "')").catch(() => {})
      Object.assign(instance, { sendOnListener }).connected()
    },`,
        },
      },
    ],
    async run(trial) {
      if (!hasPgBouncer()) throw new Skipped('PgBouncer is not installed')
      await withPair(
        trial,
        (pair) =>
          underFaults(trial, pair, [
            { name: 'nothing fails' },
            { name: 'the listener connection is frozen', fail: ({ link }) => link.freeze(), mend: thaw },
          ]),
        { pooled: 'queries' },
      )
      await withPair(
        trial,
        (pair) =>
          underFaults(trial, pair, [{ name: 'no listener connection is possible', neverHeals: true }]),
        {
          pooled: 'queries and link',
        },
      )
    },
  },
]

/**
 * A role that may only connect. It learns the names of the instances on the public channel, and says goodbye and
 * acknowledges in their names, while the listener connection of one is frozen.
 */
async function withStranger(
  { url, sql }: TestDatabase,
  use: (forging: Fault) => Promise<void>,
): Promise<void> {
  const role = `latchkey_stranger_${randomUUID().replaceAll('-', '')}`
  await sql(`create role ${role}`)
  const client = new Client({ connectionString: url })
  const names = new Set<string>()
  client.on('notification', ({ payload = '' }) => names.add(payload.split(' ')[2] ?? ''))
  await client.connect()
  try {
    await client.query(`set session authorization ${role}`)
    await client.query('listen latchkey')
    let isOver = false
    let forging: Promise<void> | null = null
    await use({
      name: 'a stranger forges messages while the listener connection is frozen',
      fail({ link }) {
        link.freeze()
        isOver = false
        forging = forge()
      },
      async mend({ link }) {
        isOver = true
        await forging
        link.thaw()
      },
    })

    async function forge(): Promise<void> {
      for (let n = 1; !isOver; n = (n % 50) + 1) {
        const forged = [...names].flatMap((name) => [
          `1 bye ${name}`,
          ...[...names].map((asker) => `1 seen ${name} ${asker} ${n}`),
        ])
        await client.query("select pg_notify('latchkey', payload) from unnest($1::text[]) as payload", [
          forged,
        ])
      }
    }
  } finally {
    await client.end()
    await sql(`drop role ${role}`)
  }
}

/** Stops the backend of each listener connection: the connection stays open, and nothing arrives. */
function stoppedBackends({ sql }: TestDatabase): readonly Fault[] {
  return [0, 1].map((which) => {
    let pid = 0
    return {
      name: 'the backend of a listener connection is stopped',
      async fail() {
        const links = await sql<{ pid: number }>(
          `select pid from pg_stat_activity where application_name = 'latchkey listener' order by pid`,
        )
        pid = links[which]?.pid ?? 0
        kill(pid, 'SIGSTOP')
      },
      mend: () => kill(pid, 'SIGCONT'),
    }
  })
}

/** Lets each of two instances revoke tokens that both have cached, just after a fault, in tens. */
async function underFaults(
  trial: Trial,
  pair: Pair,
  faults: readonly Fault[],
  revocation: 'strict' | 'prompt' = 'strict',
): Promise<void> {
  const { one, other } = pair
  const emails: string[] = []
  for (let i = 0; i <= LOGOUTS; i++)
    emails.push((await one.addCustomer({ email: `${randomUUID()}@example.com` })).email)
  const bystander = await one.login(emails.pop() ?? '')
  await sleep(LEASE_MS)
  let slowestMs = 0
  for (let round = 0; round < trial.size; round += LOGOUTS) {
    for (const { name, stopsQueries = false, neverHeals = false, fail, mend } of faults) {
      for (const revoker of stopsQueries ? [one] : [one, other]) {
        const tokens = await Promise.all(emails.map((email) => one.login(email)))
        for (const token of tokens) {
          await expectCached(trial, other, token)
          await expectCached(trial, one, token)
        }
        await fail?.(pair)
        const load = stopsQueries ? noLoad : served(trial, [one, other], bystander)
        await Promise.all(tokens.map((token) => revoked(revoker, token, name, stopsQueries)))
        await load.stop()
        await mend?.(pair)
        for (const token of tokens) await refused(trial, other, token)
        for (const app of neverHeals ? [one] : [one, other]) await untilCurrent(trial, app)
      }
    }
  }
  const what = faults.length > 1 ? `${faults.length} faults` : faults[0]?.name
  trial.note(`${what}, ${revocation}: the slowest logout took ${Math.round(slowestMs)} ms`)

  async function revoked(revoker: RunningApp, token: string, fault: string, orUnavailable: boolean) {
    const beganMs = performance.now()
    const logout = await revoker.call('/api/logout', { token })
    const answeredMs = performance.now()
    slowestMs = Math.max(slowestMs, answeredMs - beganMs)
    trial.expect(logout.status === 200, () => `${fault}: a logout is ${shown(logout)}`)
    await Promise.all([
      refused(trial, revoker, token),
      revocation === 'strict'
        ? Promise.all([one, other].map((app) => refused(trial, app, token, orUnavailable)))
        : Promise.all([one, other].map((app) => refusedInTime(trial, app, token, answeredMs))),
    ])
  }
}

const noLoad = { stop: async () => {} }

/** Runs a client on all these instances that the revocations do not affect: each response is 200. */
function served(trial: Trial, apps: readonly RunningApp[], token: string): { stop(): Promise<unknown> } {
  let isOver = false
  const calls = apps.map(async (app) => {
    do {
      const response = await app.call('/api/me', { token })
      trial.expect(response.status === 200, () => `a token that was not revoked is ${shown(response)}`)
      await sleep(5)
    } while (!isOver)
  })
  return {
    stop() {
      isOver = true
      return Promise.all(calls)
    },
  }
}

function thaw({ link, queries }: Pair): void {
  link.thaw()
  queries.thaw()
}
