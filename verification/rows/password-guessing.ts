import { setTimeout as sleep } from 'node:timers/promises'
import type { Called } from '../../src/testing/call.ts'
import { createTestDatabase, type TestDatabase } from '../../tests/support/database.ts'
import { PASSWORD, type RunningApp } from '../../tests/support/running-app.ts'
import { withApp } from '../app.ts'
import type { Row, Trial } from '../row.ts'
import { isRefused, shown } from '../scene.ts'

const LIMIT = 10
const GUESSES = 20
const WITH_LIMIT = { LOGIN_LIMIT_ACCOUNT: `${LIMIT}/15m` }

const THROTTLED = 'src/application/login/throttled.ts'
const SQL = 'sql/0006_guesses_and_keyed_attempts.sql'

/** Login throttling: who is limited, and at whose cost. */
export const guessingRows: readonly Row[] = [
  {
    id: 'E1',
    promise: '200 parallel wrong logins at a limit of 10: exactly 10 are verified, on three instances too',
    sizes: { ci: 2, release: 50, mutant: 1 },
    mutants: [
      {
        name: 'failures are counted after hashing',
        file: SQL,
        find: 'pair.failures + cardinality(pair.held) >= account_limit',
        replace: 'pair.failures >= account_limit',
      },
      {
        name: 'each instance counts for itself',
        file: 'src/composition/open-postgres.ts',
        find: 'configuration.databaseUrl === null && configuration.workers === 1',
        replace: 'true',
      },
      {
        name: 'a slot is taken without a lock',
        file: SQL,
        find: 'where key = wanted for update;',
        replace: 'where key = wanted;',
      },
      {
        name: 'a failure releases its slot and is not counted',
        file: THROTTLED,
        find: "throttle.settle(slot, 'failed', timeoutMs)",
        replace: "throttle.settle(slot, 'undecided', timeoutMs)",
      },
    ],
    run: (trial) =>
      withInstances(trial, 3, WITH_LIMIT, async (apps) => {
        for (let round = 0; round < trial.size; round++) {
          for (const instances of [apps.slice(0, 1), apps]) {
            const { email } = await first(apps).addCustomer()
            for (const account of [email, `unknown-${round}-${instances.length}@example.com`]) {
              const responses = await Promise.all(
                Array.from({ length: 200 }, (_, i) => loginAgain(at(instances, i), account, 'wrong')),
              )
              const count = (status: number) =>
                responses.filter((response) => response.status === status).length
              trial.expect(
                count(401) === LIMIT && count(429) === 200 - LIMIT,
                () =>
                  `${instances.length} instances: ${count(401)} × 401, ${count(429)} × 429, ${others(responses)}`,
              )
              const last = await login(at(instances, round), account, PASSWORD)
              trial.expect(
                namesLimit(last, 'account', LIMIT, 900),
                () => `the right one after it: ${shown(last)}`,
              )
            }
          }
        }
      }),
  },
  {
    id: 'E2',
    promise: '20 parallel right logins of one customer at a limit of 10: all succeed, one token is live',
    sizes: { ci: 5, release: 100, mutant: 2 },
    mutants: [
      {
        name: 'a success holds its slot like a failure',
        file: THROTTLED,
        find: 'throttle.settle(slot, outcome, RELEASE_TIMEOUT_MS)',
        replace: "throttle.settle(slot, 'failed', RELEASE_TIMEOUT_MS)",
      },
      {
        name: 'a success does not release its slot',
        file: THROTTLED,
        find: "await releaseSlot(throttle, slot, 'succeeded')",
        replace: '',
      },
      {
        name: 'a waiting login is refused',
        file: THROTTLED,
        find: 'leftMs -= forMs',
        replace: 'leftMs = -1',
      },
      {
        name: 'held slots count as failures',
        file: SQL,
        find: '    if pair.failures >= account_limit then',
        replace: '    if pair.failures + cardinality(pair.held) >= account_limit then',
      },
    ],
    run: (trial) =>
      withInstances(trial, 3, WITH_LIMIT, async (apps) => {
        const { id, email } = await first(apps).addCustomer()
        for (let round = 0; round < trial.size; round++) {
          const instances = round % 2 === 0 ? apps.slice(0, 1) : apps
          const responses = await Promise.all(
            Array.from({ length: 20 }, (_, i) => login(at(instances, i), email)),
          )
          trial.expect(
            responses.every(({ status }) => status === 200),
            () => `${instances.length} instances: ${others(responses)}`,
          )
          const live = await liveTokens(first(apps), id)
          trial.expect(live === 1, () => `${live} live tokens`)
        }
      }),
  },
  {
    id: 'E3',
    promise:
      "a stranger's guesses lock no owner out: 200 where the owner was before, elsewhere a wait of 45 s at most",
    sizes: { ci: 100, release: 1000, mutant: 60 },
    mutants: [
      {
        name: 'the account is locked for all clients',
        file: SQL,
        find: 'pair.succeeded_at > clock_timestamp() - interval',
        replace: 'pair.succeeded_at is null and pair.succeeded_at > clock_timestamp() - interval',
      },
      {
        name: 'the limit by account ignores the address',
        file: 'src/adapters/postgres/login-throttle.ts',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source
        find: '`pair\\0${account}\\0${address}`',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source
        replace: '`pair\\0${account}`',
      },
      {
        name: 'refused guesses make the wait longer',
        file: SQL,
        find: "charged := greatest(account.full_at - moment, interval '0');",
        replace: "charged := 9 * greatest(account.full_at - moment, interval '0');",
      },
    ],
    run: (trial) =>
      withApp(trial, { env: { ...WITH_LIMIT, TRUST_PROXY: '1' } }, async (app) => {
        for (const strangers of ['one address', 'many addresses'] as const) {
          const { email } = await app.addCustomer()
          await expectStatus(trial, 200, login(app, email, PASSWORD, '192.0.2.1'))
          let looked = 0
          for (let i = 0; i < trial.size; i++) {
            const from = strangers === 'one address' ? '203.0.113.1' : `10.0.${i >> 8}.${i & 255}`
            const response = await login(app, email, 'wrong', from)
            if (response.status === 401) looked += 1
            else trial.require(response.status === 429, () => `a guess: ${shown(response)}`)
          }
          trial.note(`${trial.size} guesses from ${strangers}: ${looked} were verified.`)
          await expectStatus(trial, 200, login(app, email, PASSWORD, '192.0.2.1'))
          for (let i = 0; i < GUESSES; i++) await login(app, email, 'wrong', `10.1.0.${i}`)
          const elsewhere = await login(app, email, PASSWORD, '192.0.2.99')
          trial.expect(
            elsewhere.status === 200 || namesLimit(elsewhere, 'guesses', 1),
            () => `the owner elsewhere: ${shown(elsewhere)}`,
          )
          await expectStatus(trial, 200, login(app, email, PASSWORD, '192.0.2.1'))
        }
      }),
  },
  {
    id: 'E4',
    promise:
      'failures of one account from many addresses: at most 20 to 40 at once, then one each 45 to 60 s, 100 an hour',
    sizes: { ci: 1, release: 20 },
    mutants: [
      {
        name: 'guesses are counted by address only',
        file: SQL,
        find: 'attempts.full_at := greatest(attempts.full_at, moment) + guess_pause;',
        replace: 'attempts.full_at := moment;',
      },
      {
        name: 'pending guesses are not counted',
        file: SQL,
        find: 'charged + (cardinality(account.held) + 1) * guess_pause > capacity',
        replace: 'charged + guess_pause > capacity',
      },
      {
        name: 'a high limit by account lets too many guesses through at once',
        file: 'src/domain/login-limit.ts',
        find: 'const MAX_GUESSES = 40',
        replace: 'const MAX_GUESSES = 90',
      },
    ],
    run: async (trial) => {
      for (const [limit, most] of [
        ['10/15m', GUESSES],
        ['100/15m', 40],
        ['off', 40],
      ] as const) {
        const env = { LOGIN_LIMIT_ACCOUNT: limit, TRUST_PROXY: '1' }
        await withApp(trial, { env }, async (app) => {
          for (let round = 0; round < trial.size; round++) {
            const { email } = await app.addCustomer()
            for (const account of [email, `unknown-${round}@example.com`]) {
              const beganMs = performance.now()
              const responses: Called[] = []
              // A batch size that does not wait long, even on a busy machine.
              for (let batch = 0; batch < 20 && !responses.some(({ status }) => status === 429); batch++) {
                const guesses = Array.from({ length: 50 }, (_, i) =>
                  login(app, account, 'wrong', `10.0.${batch}.${i}`),
                )
                // A busy machine may refuse some with 503, which verifies no password.
                responses.push(...(await Promise.all(guesses)).filter((response) => !isRefused(response)))
              }
              const failures = responses.filter(({ status }) => status === 401).length
              // One more for each pause that had ended by then.
              const pauses = Math.floor((performance.now() - beganMs) / 45_000)
              trial.expect(
                failures >= most && failures <= most + pauses,
                () => `limit ${limit}: ${failures} failures, ${others(responses)}`,
              )
              const next = responses.find(({ status }) => status === 429)
              trial.expect(
                next !== undefined && namesLimit(next, 'guesses', 1),
                () => `limit ${limit}: no wait`,
              )
            }
          }
        })
      }
    },
  },
  {
    id: 'E5',
    promise: 'forged X-Forwarded-For: one client without TRUST_PROXY, and with it the hop that is trusted',
    sizes: { ci: 1, release: 20 },
    mutants: [
      {
        name: 'the left-most entry is believed',
        file: 'src/adapters/http/request/client-address.ts',
        find: "const comma = rest.lastIndexOf(',')",
        replace: "rest = rest.split(',')[0] ?? ''\n    const comma = -1",
      },
      {
        name: 'the header is believed without a proxy',
        file: 'src/adapters/http/request/client-address.ts',
        find: 'if (trustedProxies === 0) return address',
        replace: 'trustedProxies ||= 1',
      },
      {
        name: 'each address of IPv6 counts for itself',
        file: 'src/adapters/http/request/client-address.ts',
        find: "groups.slice(0, 4).join(':')",
        replace: "groups.join(':')",
      },
    ],
    run: async (trial) => {
      for (const hops of [0, 1, 2]) {
        const env = { ...WITH_LIMIT, TRUST_PROXY: String(hops) }
        await withApp(trial, { env }, async (app) => {
          const trusted = (client: string) => [client, '10.9.9.9'].slice(0, hops).join(', ')
          for (let round = 0; round < trial.size; round++) {
            for (const own of [(_: number) => '198.51.100.7', (i: number) => `2001:db8:7:7::${i}`]) {
              const { email } = await app.addCustomer()
              for (let i = 0; i <= LIMIT + 2; i++) {
                const forged = `192.0.2.${i}, 10.0.0.${i}`
                const forwarded = hops === 0 ? forged : `${forged}, ${trusted(own(i))}`
                const response = await login(app, email, 'wrong', forwarded)
                const wanted = i < LIMIT ? 401 : 429
                trial.expect(
                  response.status === wanted,
                  () => `${hops} hops, attempt ${i}, ${forwarded}: ${shown(response)}`,
                )
              }
              const other = await login(app, email, PASSWORD, `198.51.100.7, ${trusted('203.0.113.5')}`)
              const wanted = hops === 0 ? 429 : 200
              trial.expect(other.status === wanted, () => `${hops} hops, another client: ${shown(other)}`)
            }
          }
        })
      }
    },
  },
]

/** Starts several services on one database. */
async function withInstances(
  trial: Trial,
  count: number,
  env: Record<string, string>,
  play: (apps: readonly RunningApp[]) => Promise<void>,
): Promise<void> {
  const database = await createTestDatabase()
  try {
    await add([])
  } finally {
    await database.drop()
  }

  function add(apps: readonly RunningApp[], on: TestDatabase = database): Promise<void> {
    if (apps.length === count) return play(apps)
    return withApp(trial, { database: on, env, isSecond: apps.length > 0 }, (app) => add([...apps, app]))
  }
}

function login(app: RunningApp, email: string, password = PASSWORD, forwarded?: string): Promise<Called> {
  const headers: Record<string, string> = forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded }
  return app.call('/api/login', { body: { email, password }, headers })
}

/** Logs in and retries after a 503. The row is about the count, and the machine may be busy. */
async function loginAgain(app: RunningApp, email: string, password: string): Promise<Called> {
  for (let times = 1; ; times++) {
    const response = await login(app, email, password)
    if (!isRefused(response) || times === 5) return response
    await sleep(1000)
  }
}

/** Whether the response names the limit that was reached, and when to retry. */
function namesLimit(
  { status, headers, body }: Called,
  name: string,
  quota: number,
  windowS?: number,
): boolean {
  const [, policy, q, w] = /^"(\w+)";q=(\d+);w=(\d+)$/.exec(headers.get('ratelimit-policy') ?? '') ?? []
  const [, limit, t] = /^"(\w+)";r=0;t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? []
  const longest = windowS ?? 60
  return (
    status === 429 &&
    body.reason === 'too_many_requests' &&
    policy === name &&
    limit === name &&
    Number(q) === quota &&
    (windowS === undefined ? Number(w) <= longest : Number(w) === windowS) &&
    t === headers.get('retry-after') &&
    Number(t) >= 1 &&
    Number(t) <= longest
  )
}

async function expectStatus(trial: Trial, status: number, called: Promise<Called>): Promise<void> {
  const response = await called
  trial.expect(response.status === status, () => `${shown(response)}, not ${status}`)
}

async function liveTokens(app: RunningApp, customerId: string): Promise<number> {
  const rows = await app.database.sql(
    'select from login_tokens where customer_id = $1 and revoked_at is null',
    [customerId],
  )
  return rows.length
}

/** Describes the responses that are neither 200, 401 nor 429. */
function others(responses: readonly Called[]): string {
  const odd = responses.filter(({ status }) => status !== 200 && status !== 401 && status !== 429)
  return `${odd.length} others${odd[0] === undefined ? '' : `: ${shown(odd[0])}`}`
}

function first(apps: readonly RunningApp[]): RunningApp {
  return at(apps, 0)
}

function at(apps: readonly RunningApp[], i: number): RunningApp {
  return apps[i % apps.length] as RunningApp
}
