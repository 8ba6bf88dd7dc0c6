import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestDatabase } from '../../support/database.ts'
import { hasPgBouncer } from '../../support/pgbouncer.ts'
import type { RunningApp } from '../../support/running-app.ts'
import { ENDLESS_LEASE, NO_FORGETTING, OTHERS_NOT_WAITED_FOR } from '../naive-forms.ts'
import { withOwnServer } from '../own-server.ts'
import {
  kept,
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

/** How many customers log out at the same time. */
const LOGOUTS = 10

/** Something that goes wrong with what an instance hears, and how it is set right. */
interface Fault {
  readonly name: string
  /** Whether the other instance can ask the database nothing meanwhile. */
  readonly stopsQueries?: boolean
  /** Whether the other instance cannot keep anything, before and after. */
  readonly neverHeals?: boolean
  fail?(pair: Pair): unknown
  mend?(pair: Pair): unknown
}

const NETWORK_FAULTS: readonly Fault[] = [
  { name: 'the link is terminated', fail: ({ database }) => terminate(database, 'latchkey link') },
  {
    name: 'the heartbeats are terminated',
    fail: ({ database }) => terminate(database, 'latchkey heartbeat'),
  },
  { name: 'the link is frozen', fail: ({ link }) => link.freeze(), mend: thaw },
  { name: 'the link is half-open', fail: ({ link }) => link.strand() },
  {
    name: 'link and queries are frozen',
    stopsQueries: true,
    fail: ({ link, queries }) => [link.freeze(), queries.freeze()],
    mend: thaw,
  },
]

/** The link of an instance fails in each way that links fail. */
export const linkRows: readonly Row[] = [
  {
    id: 'G9',
    promise: 'a link lost, frozen or half-open: exact all the same, no request fails, the cache comes back',
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
      'the backend behind a link is stopped by SIGSTOP: the same, and a logout waits for a lease at most',
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
    id: 'G9c',
    promise: 'queries through PgBouncer by transaction, with a link of its own and without: the same',
    sizes: { ci: 10, release: 100 },
    mutants: [
      {
        name: 'heartbeats take the link',
        file: INVALIDATIONS,
        find: 'send: voice.say',
        replace: "send: (payload) => (payload.includes(' beat ') ? sayOnLink : voice.say)(payload)",
        and: {
          find: '    instance.linked()\n  }\n',
          replace: `    sayOnLink = (payload) => void client.query("select pg_notify('useCases', '" + payload + "')").catch(() => {})
    instance.linked()
  }

  var sayOnLink = (_: string) => {}
`,
        },
      },
    ],
    async run(trial) {
      if (!hasPgBouncer()) throw new Skipped('pgbouncer is not on this machine')
      await withPair(
        trial,
        (pair) =>
          underFaults(trial, pair, [
            { name: 'nothing fails' },
            { name: 'the link is frozen', fail: ({ link }) => link.freeze(), mend: thaw },
          ]),
        { pooled: 'queries' },
      )
      await withPair(
        trial,
        (pair) => underFaults(trial, pair, [{ name: 'no link can be had', neverHeals: true }]),
        {
          pooled: 'queries and link',
        },
      )
    },
  },
]

/** Of each of the two links the backend, which no longer runs: the connection stays, and nothing comes. */
function stoppedBackends({ sql }: TestDatabase): readonly Fault[] {
  return [0, 1].map((which) => {
    let pid = 0
    return {
      name: 'the backend of a link is stopped',
      async fail() {
        const links = await sql<{ pid: number }>(
          `select pid from pg_stat_activity where application_name = 'latchkey link' order by pid`,
        )
        pid = links[which]?.pid ?? 0
        kill(pid, 'SIGSTOP')
      },
      mend: () => kill(pid, 'SIGCONT'),
    }
  })
}

/** Lets each of two instances revoke what both have kept, just after something went wrong, in tens. */
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
          await kept(trial, other, token)
          await kept(trial, one, token)
        }
        await fail?.(pair)
        const load = stopsQueries ? nobody : served(trial, [one, other], bystander)
        await Promise.all(tokens.map((token) => revoked(revoker, token, name, stopsQueries)))
        await load.stop()
        await mend?.(pair)
        for (const token of tokens) await refused(trial, other, token)
        for (const app of neverHeals ? [one] : [one, other]) await untilCurrent(trial, app)
      }
    }
  }
  const what = faults.length > 1 ? `${faults.length} faults` : faults[0]?.name
  trial.note(`${what}, ${revocation}: the slowest logout was answered after ${Math.round(slowestMs)} ms`)

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

const nobody = { stop: async () => {} }

/** A caller of all these instances whom nothing of it concerns: each answer is 200. */
function served(trial: Trial, apps: readonly RunningApp[], token: string): { stop(): Promise<unknown> } {
  let isOver = false
  const calls = apps.map(async (app) => {
    do {
      const answer = await app.call('/api/me', { token })
      trial.expect(answer.status === 200, () => `a token that nobody revoked is ${shown(answer)}`)
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
