import { randomUUID } from 'node:crypto'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import type { TestDatabase } from '../../tests/support/database.ts'
import { withApp } from '../app.ts'
import { untilCurrent } from '../pair.ts'
import type { Row } from '../row.ts'
import { shown } from '../scene.ts'
import { inParallel } from '../wire.ts'

const CACHE = 'src/adapters/node-cache/cache.ts'
const ENTRIES = 100
const TRIES = 5

/** The cache may be too small for its tokens, and many requests may need the same one at once. */
export const cachingRows: readonly Row[] = [
  {
    id: 'I6',
    promise: `a cache of ${ENTRIES} entries and far more tokens, each used several times: every response is 200`,
    sizes: { ci: 1000, release: 10_000, mutant: 200 },
    mutants: [
      {
        name: 'a full cache throws',
        file: CACHE,
        find: 'entries.del(first(order))',
        replace: '',
        and: { find: 'checkperiod: 0', replace: 'checkperiod: 0, maxKeys: maxEntries' },
      },
    ],
    run: (trial) =>
      withApp(trial, { env: { TOKEN_CACHE_MAX: String(ENTRIES) } }, async (app) => {
        await untilCurrent(trial, app)
        const tokens = await storedTokens(app.database, trial.size)
        await inParallel(3 * tokens.length, 32, async (use) => {
          const response = await app.call('/api/me', { token: tokens[use % tokens.length] ?? '' })
          trial.expect(response.status === 200, () => `a good token is ${shown(response)}`)
        })
      }),
  },
  {
    id: 'I7',
    promise:
      '1,000 concurrent requests with a token that is not cached: one lookup, and every response is 200',
    sizes: { ci: 3, release: 50, mutant: 1 },
    mutants: [
      {
        name: 'no request shares a lookup',
        file: 'src/application/login-tokens/cached.ts',
        find: 'return (fills.get(digest) ?? beginFill(digest, timeoutMs)).reading',
        replace: 'return beginFill(digest, timeoutMs).reading',
      },
    ],
    run: (trial) =>
      // Storing the last use would query the database, too.
      withApp(trial, { env: { TOKEN_LAST_USED: 'off' } }, async (app) => {
        await untilCurrent(trial, app)
        const { pool } = app
        const { run } = pool
        let lookups = 0
        let lapses = 0
        const counting: typeof run = (timeoutMs, work) => {
          lookups += 1
          // On a stalled machine lookups must not be shared, and the round proves nothing.
          if (!app.service.invalidations.isCurrent()) lapses += 1
          return run(timeoutMs, work)
        }
        Object.assign(pool, { run: counting })
        let rounds = 0
        for (const token of await storedTokens(app.database, TRIES * trial.size)) {
          lookups = 0
          lapses = 0
          const calls = Array.from({ length: 1000 }, () => app.call('/api/me', { token }))
          const wrong = (await Promise.all(calls)).filter(({ status }) => status !== 200)
          trial.expect(wrong.length === 0, () => `${wrong.length} of 1,000 are not 200`)
          if (lapses > 0) continue
          trial.expect(lookups === 1, () => `${lookups} lookups`)
          if (++rounds === trial.size) return
        }
        trial.require(false, () => `${rounds} rounds had a lease from end to end`)
      }),
  },
]

/** Returns the secrets of `count` tokens, each of a different customer. */
async function storedTokens({ sql }: TestDatabase, count: number): Promise<readonly string[]> {
  const { issue } = tokenSecrets({ prefix: 'lk' })
  const issued = Array.from({ length: count }, issue)
  const ids = issued.map(() => randomUUID())
  await sql(
    `insert into customers (id, email, created_at)
     select id, id::text || '@example.com', now() from unnest($1::uuid[]) as id`,
    [ids],
  )
  await sql(
    `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
     select gen_random_uuid(), id, 'login', decode(digest, 'hex'), '{*}', now()
       from unnest($1::uuid[], $2::text[]) as made (id, digest)`,
    [ids, issued.map(({ digest }) => digest)],
  )
  return issued.map(({ secret }) => secret)
}
