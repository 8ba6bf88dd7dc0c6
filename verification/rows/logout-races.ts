import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Called } from '../../src/testing/call.ts'
import type { TestDatabase } from '../../tests/support/database.ts'
import { createQuickClient } from '../../tests/support/quick-client.ts'
import { PASSWORD, type RunningApp } from '../../tests/support/running-app.ts'
import { withApp } from '../app.ts'
import {
  ACKNOWLEDGED_BEFORE_APPLIED,
  ANNOUNCED,
  CACHE,
  CUSTOMER_AS_DIGEST,
  MARKED_FILL_JOINED,
  NOTHING_APPLIED,
  READ_THEN_STORE,
  UNKNOWN_OUTCOME_IGNORED,
} from '../naive-forms.ts'
import {
  expectCached,
  LEASE_MS,
  refused,
  refusedInTime,
  terminate,
  untilCurrent,
  withDatabase,
  withPair,
} from '../pair.ts'
import type { Row, Trial } from '../row.ts'
import { isRefused, shown, shownTimes } from '../scene.ts'

const LOOKUP_QUERY = 'as asked (token_hash, n)'
const HELD_MS = 500
/** An address without a server. */
const NOWHERE = 'postgres://unused@127.0.0.1:1/nothing'

/** Revocations are exact on every instance, despite slow or lost messages and changes by other programs. */
export const revocationRows: readonly Row[] = [
  {
    id: 'G2',
    promise: 'concurrent checks around each logout: none that begins after its response is accepted',
    sizes: { ci: 5000, release: 1_000_000, mutant: 200 },
    mutants: [
      ACKNOWLEDGED_BEFORE_APPLIED,
      {
        name: 'applied before the commit',
        file: ANNOUNCED,
        find: '  const result = await change.catch(',
        replace:
          '  await invalidations.publish(invalidation)\n  mayHaveEnded = () => false\n  const result = await change.catch(',
      },
    ],
    async run(trial) {
      await withPair(trial, async ({ database, one, other, link }) => {
        // Notifications arrive late, so that only a change that the instance itself applies can be in time.
        link.holdRepliesTo('listen', HELD_MS)
        await terminate(database, 'latchkey listener')
        await sleep(2 * LEASE_MS)
        const { id, email } = await one.addCustomer()
        for (let round = 0; round < 4; round++) {
          const token = await other.login(email)
          await expectCached(trial, other, token)
          const logout = await (round % 2 === 0
            ? other.call('/api/logout', { token })
            : slowLogout(trial, database, other, id, token))
          trial.expect(logout.status === 200, () => `a logout is ${shown(logout)}`)
          await refused(trial, other, token)
        }
      })
      await withDatabase((database) => withApp(trial, { database }, (app) => checksAroundLogouts(trial, app)))
    },
  },
  {
    id: 'G3',
    promise: 'a slow lookup that read the token before its revocation does not cache it again',
    sizes: { ci: 6, release: 200 },
    mutants: [READ_THEN_STORE, MARKED_FILL_JOINED],
    run: (trial) => slowLookups(trial, 'linked'),
  },
  {
    id: 'G3b',
    promise: 'nor does an instance without its listener connection share it with a later request',
    sizes: { ci: 3, release: 200 },
    mutants: [
      {
        name: 'a lookup is shared without a lease',
        file: CACHE,
        find: 'if (!invalidations.isCurrent()) return beginFill(digest, timeoutMs).reading',
        replace:
          'if (!invalidations.isCurrent()) return (fills.get(digest) ?? beginFill(digest, timeoutMs)).reading',
      },
    ],
    run: (trial) => slowLookups(trial, 'stopped'),
  },
  {
    id: 'G4',
    promise:
      'the reply to a commit is lost: 503, applied at once on the same instance, and never two live tokens',
    sizes: { ci: 5, release: 250, mutant: 2 },
    mutants: [UNKNOWN_OUTCOME_IGNORED],
    run: (trial) =>
      withPair(trial, async ({ database, one, other, link, queries }) => {
        const { id, email } = await one.addCustomer()
        // Notifications arrive late, so that only the instance itself can know.
        link.holdRepliesTo('listen', HELD_MS)
        await terminate(database, 'latchkey listener')
        await sleep(2 * LEASE_MS)
        for (let round = 0; round < trial.size; round++) {
          for (const [lost, path, body] of [
            ['set revoked_at', '/api/logout', undefined],
            ['commit\u0000', '/api/login', { email, password: PASSWORD }],
          ] as const) {
            const token = await one.login(email)
            await expectCached(trial, other, token)
            queries.cutAfterSending(lost)
            const response = await other.call(path, { token, ...(body === undefined ? {} : { body }) })
            queries.cutAfterSending('nothing that is ever said')
            trial.expect(isRefused(response), () => `${path}, its commit cut off, is ${shown(response)}`)
            await refused(trial, other, token)
            const live = await database.sql(
              'select from login_tokens where customer_id = $1 and revoked_at is null',
              [id],
            )
            trial.expect(live.length <= 1, () => `${live.length} live tokens`)
          }
        }
      }),
  },
  {
    id: 'G10',
    promise:
      'changes by other programs (psql, a password, a disable, a deletion) are applied within a second of their commit',
    sizes: { ci: 20, release: 1000, mutant: 2 },
    mutants: [CUSTOMER_AS_DIGEST, NOTHING_APPLIED],
    run: (trial) =>
      withPair(trial, async ({ database, one, other }) => {
        const windows: number[] = []
        const changes = [
          'update login_tokens set revoked_at = now() where customer_id = $1',
          'update customers set disabled_at = now() where id = $1',
          'delete from customers where id = $1',
          "update login_tokens set expires_at = now() - interval '1 minute' where customer_id = $1",
        ]
        for (let round = 0; round < trial.size; round++) {
          for (const change of changes) {
            const { id, email } = await one.addCustomer()
            const token = await one.login(email)
            for (const app of [one, other]) await expectCached(trial, app, token)
            await database.sql(change, [id])
            const committedMs = performance.now()
            for (const app of [one, other]) {
              windows.push(await refusedInTime(trial, app, token, committedMs))
            }
          }
        }
        trial.note(`refused after the commit: ${shownTimes(windows)}`)
      }),
  },
]

/** Holds the token's row for a moment, while the token is read and cached again. */
async function slowLogout(
  trial: Trial,
  { url }: TestDatabase,
  app: RunningApp,
  customerId: string,
  token: string,
): Promise<Called> {
  const holder = new Client({ connectionString: url })
  await holder.connect()
  try {
    await holder.query('begin')
    await holder.query('select from login_tokens where customer_id = $1 for update', [customerId])
    const logout = app.call('/api/logout', { token })
    await sleep(HELD_MS / 2)
    await expectCached(trial, app, token)
    await holder.query('rollback')
    return await logout
  } finally {
    await holder.end()
  }
}

/** Clients check continuously while one logs out. Each check that begins after the response counts. */
async function checksAroundLogouts(trial: Trial, app: RunningApp): Promise<void> {
  const client = createQuickClient()
  let checks = 0
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      const { email } = await app.addCustomer()
      while (checks < trial.size) {
        const token = await app.login(email)
        let isAcknowledged = false
        let left = 40
        const load = Array.from({ length: 3 }, async () => {
          while (left > 0) {
            const counts = isAcknowledged
            const status = await client.me(app.url, token)
            if (!counts) continue
            checks += 1
            left -= 1
            trial.expect(status === 401, () => `a token that was revoked is ${status}`)
          }
        })
        await sleep(Math.random() * 5)
        const logout = await app.call('/api/logout', { token })
        isAcknowledged = true
        trial.expect(logout.status === 200, () => `a logout is ${shown(logout)}`)
        await Promise.all(load)
      }
    }),
  )
  client.close()
}

/** Revokes the token on one instance while the other waits for the result of a lookup that has read it. */
async function slowLookups(trial: Trial, state: 'linked' | 'stopped'): Promise<void> {
  await withPair(trial, async ({ database, one, other, link, queries }) => {
    const { email } = await one.addCustomer()
    if (state === 'stopped') {
      link.leadTo(NOWHERE)
      await terminate(database, 'latchkey listener')
      await sleep(LEASE_MS)
    }
    await sleep(LEASE_MS)
    queries.holdRepliesTo(LOOKUP_QUERY, HELD_MS)
    for (let round = 0; round < trial.size; round++) {
      const token = await one.login(email)
      const slow = other.call('/api/me', { token })
      await sleep(60)
      const logout = await one.call('/api/logout', { token })
      trial.expect(logout.status === 200, () => `a logout is ${shown(logout)}`)
      // A request before the slow lookup returns must not share it, and a later one must not find it cached.
      if (round % 2 === 0) await Promise.all([refused(trial, other, token), refused(trial, other, token)])
      await slow
      await refused(trial, other, token)
    }
    link.leadTo(database.url)
    await untilCurrent(trial, other)
  })
}
