import { raceEnding, raceLogins } from '../../src/testing/races.ts'
import type { Stores } from '../../src/testing/stores.ts'
import { openPostgresStores } from '../../tests/support/postgres-stores.ts'
import type { RunningApp } from '../../tests/support/running-app.ts'
import { withApp } from '../app.ts'
import { REVOKED_AGAIN, STORE_LOGIN } from '../naive-forms.ts'
import type { Row, Trial } from '../row.ts'

/** A token is revoked once, a customer has one login token, and tokens expire. */
export const raceRows: readonly Row[] = [
  {
    id: 'G6',
    promise:
      'of 50 parallel logouts of one token, one succeeds, the others find it revoked, and one row changes',
    sizes: { ci: 5, release: 1000, mutant: 1 },
    mutants: [REVOKED_AGAIN],
    run: (trial) =>
      withApp(trial, {}, async (app) => {
        const { id, email } = await app.addCustomer()
        for (let round = 0; round < trial.size; round++) {
          const token = await app.login(email)
          const calls = Array.from({ length: 50 }, () => app.call('/api/logout', { token }))
          const statuses = (await Promise.all(calls)).map(({ status }) => status).sort()
          trial.expect(
            statuses[0] === 200 && statuses.slice(1).every((status) => status === 401),
            () => `50 logouts: ${statuses}`,
          )
          const { status } = await app.call('/api/me', { token })
          trial.expect(status === 401, () => `me, after 50 logouts: ${status}`)
        }
        const rows = await app.database.sql(
          'select from login_tokens where customer_id = $1 and revoked_at is not null',
          [id],
        )
        trial.expect(rows.length === trial.size, () => `${rows.length} rows are revoked`)
      }),
  },
  {
    id: 'G7',
    promise:
      '64 parallel logins of one customer, every fourth logged out: all succeed, one live token at most',
    sizes: { ci: 5, release: 1000, mutant: 1 },
    mutants: [
      {
        name: 'UPDATE, then INSERT, without a lock',
        file: STORE_LOGIN,
        find: 'where id = $1 for no key update',
        replace: 'where id = $1',
      },
    ],
    run: (trial) => races(trial, (stores) => raceLogins(stores, 64)),
  },
  {
    id: 'G7b',
    promise: 'logins raced against a password change and a disable: no token of the old password stays valid',
    sizes: { ci: 30, release: 500 },
    mutants: [
      {
        name: 'the hash that was verified is not compared again',
        file: STORE_LOGIN,
        find: 'owner?.password_hash !== verifiedHash || owner.disabled_at !== null',
        replace: 'owner === undefined || owner.disabled_at !== null',
      },
      {
        name: 'whether the customer is disabled is not compared again',
        file: STORE_LOGIN,
        find: 'owner?.password_hash !== verifiedHash || owner.disabled_at !== null',
        replace: 'owner?.password_hash !== verifiedHash',
      },
    ],
    run: (trial) =>
      races(trial, async (stores) => {
        await raceEnding(stores, 'password')
        await raceEnding(stores, 'disable')
      }),
  },
  {
    id: 'F6',
    promise: 'a token is accepted until its last millisecond and refused afterwards, cached or not',
    sizes: { ci: 20, release: 1000 },
    mutants: [
      {
        name: 'the expiry is not compared on a hit',
        file: 'src/application/use-cases/authenticate.ts',
        find: '!authenticates(owned, nowMs)',
        replace: '!authenticates(owned, owned.token.createdAtMs)',
      },
    ],
    async run(trial) {
      for (const TOKEN_CACHE_TTL of ['60s', '0s']) {
        let accepted = 0
        await withApp(trial, { env: { TOKEN_CACHE_TTL } }, async (app) => {
          for (let rest = trial.size / 2; rest > 0; rest -= 20) {
            const watches = Array.from({ length: Math.min(20, rest) }, () => watchExpiry(trial, app))
            for (const count of await Promise.all(watches)) accepted += count
          }
        })
        trial.require(accepted > 0, () => `no request was in time, cache ${TOKEN_CACHE_TTL}`)
      }
    },
  },
]

async function races(trial: Trial, race: (stores: Stores) => Promise<void>): Promise<void> {
  const stores = await openPostgresStores()
  try {
    for (let round = 0; round < trial.size; round++) {
      const violation = await race(stores).then(
        () => null,
        (error: Error) => error,
      )
      trial.expect(violation === null, () => `${violation?.message}`)
    }
  } finally {
    await stores.close()
  }
}

/** Sends requests with a token that has 300 ms left, up to the first refusal. Returns the number of accepted ones. */
async function watchExpiry(trial: Trial, app: RunningApp): Promise<number> {
  const { id, email } = await app.addCustomer()
  const token = await app.login(email)
  const [row] = await app.database.sql<{ expires_at: Date }>(
    `update login_tokens set expires_at = date_trunc('milliseconds', clock_timestamp()) + interval '300 ms'
     where customer_id = $1 returning expires_at`,
    [id],
  )
  const expiresAtMs = row?.expires_at.getTime() ?? 0
  let accepted = 0
  for (let isOver = false; !isOver; ) {
    const beganMs = Date.now()
    const { status } = await app.call('/api/me', { token })
    isOver = beganMs >= expiresAtMs
    if (isOver) trial.expect(status === 401, () => `${beganMs - expiresAtMs} ms after its expiry: ${status}`)
    else if (Date.now() < expiresAtMs) {
      trial.expect(status === 200, () => `${expiresAtMs - Date.now()} ms before its expiry: ${status}`)
      accepted++
    }
  }
  return accepted
}
