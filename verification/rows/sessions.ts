import { PASSWORD } from '../../tests/support/running-app.ts'
import { type Cluster, type Member, post, withCluster } from '../cluster.ts'
import { STORE_LOGIN } from '../naive-forms.ts'
import type { Row, Trial } from '../row.ts'

const LOGINS = 64
const MAX_TRIES = 50
/** Rounds from which every limit is tried. */
const MANY = 10
const LIMITS = [1, 2, 3, 10].flatMap((max) => [[max, 'replace'] as const, [max, 'refuse'] as const])
const FEW_LIMITS = [[3, 'replace'] as const, [2, 'refuse'] as const]
const ANOTHER_PASSWORD = 'another horse 10'
/** Customers whose changes race at the same time. */
const PARALLEL = 8
/** Each round guesses the old password up to three times, and an account takes 40 wrong guesses in all, even without limits. */
const MAX_ROUNDS = 13

/** The number of sessions of a customer, and what a change of the password leaves of them. */
export const sessionRows: readonly Row[] = [
  {
    id: 'G17',
    promise:
      '64 parallel logins on three instances with 1, 2, 3 and 10 sessions: exactly so many are live; with `refuse`, exactly so many succeed',
    sizes: { ci: 1, release: 200, mutant: 1 },
    mutants: [
      {
        name: 'the slot is not unique',
        file: 'sql/0009_sessions.sql',
        find: 'create unique index if not exists login_tokens_slot_key',
        replace: 'create index if not exists login_tokens_slot_key',
      },
      {
        name: 'the sessions are read without the lock of the customer',
        file: STORE_LOGIN,
        find: 'where id = $1 for no key update',
        replace: 'where id = $1',
      },
      {
        name: 'all live sessions are kept',
        file: 'src/domain/session.ts',
        find: 'live.slice(0, max - 1)',
        replace: 'live',
      },
    ],
    async run(trial) {
      // Each starts three processes, which takes most of the time of a small run.
      const limits = trial.size < MANY ? FEW_LIMITS : LIMITS
      for (const [max, whenFull] of limits) await raceLogins(trial, max, whenFull)
      await lowerLimit(trial)
    },
  },
  {
    id: 'G18',
    promise:
      'a change of the password raced against logins and cached requests on three instances: no token of the old password is accepted after the acknowledgement, and the current session lives',
    sizes: { ci: 80, release: 10_000, mutant: 80 },
    mutants: [
      {
        name: 'a change leaves the other tokens',
        file: 'src/adapters/postgres/store-password.ts',
        find: 'where customer_id = $1 and id <> $3 and revoked_at is null',
        replace: 'where customer_id = $1 and id <> $3 and false',
      },
      {
        name: 'a login does not compare the hash again',
        file: STORE_LOGIN,
        find: 'owner?.password_hash !== verifiedHash || owner.disabled_at !== null',
        replace: 'owner === undefined || owner.disabled_at !== null',
      },
    ],
    run: (trial) =>
      withCluster(
        trial,
        {
          revocation: 'strict',
          customers: Math.max(PARALLEL, Math.ceil(trial.size / MAX_ROUNDS)),
          env: { LOGIN_SESSIONS: '10' },
        },
        async (cluster) => {
          const rounds = Math.ceil(trial.size / cluster.emails.length)
          const emails = [...cluster.emails]
          const lanes = Array.from({ length: PARALLEL }, async () => {
            for (let email = emails.pop(); email !== undefined; email = emails.pop())
              await raceChanges(trial, cluster, email, rounds)
          })
          await Promise.all(lanes)
        },
      ),
  },
]

const logIn = (member: Member, email: string, password = PASSWORD) =>
  post(member, '/api/login', { body: { email, password } })

/**
 * Logs in, and again after each 503: on a busy machine, some of many parallel logins wait for the customer's row longer than
 * the deadline of a request.
 */
async function logInPatiently(member: Member, email: string): Promise<number | undefined> {
  for (let tries = 1; ; tries++) {
    const status = (await logIn(member, email))?.status
    if (status !== 503 || tries === MAX_TRIES) return status
    await wait(100 * Math.random() * tries)
  }
}

function raceLogins(trial: Trial, max: number, whenFull: 'replace' | 'refuse'): Promise<void> {
  const env = { LOGIN_SESSIONS: `${max}`, LOGIN_SESSIONS_FULL: whenFull }
  return withCluster(
    trial,
    { revocation: 'strict', customers: 1, env },
    async ({ database, members, emails }) => {
      const [email = ''] = emails
      for (let round = 0; round < trial.size; round++) {
        const logins = Array.from({ length: LOGINS }, (_, i) =>
          logInPatiently(members[i % 3] as Member, email),
        )
        const statuses = await Promise.all(logins)
        const live = await database.sql(LIVE)
        const succeeded = statuses.filter((status) => status === 200).length
        const what = () => `${max} ${whenFull}: ${live.length} are live, ${succeeded} succeeded: ${statuses}`
        trial.expect(live.length === Math.min(LOGINS, max), what)
        if (whenFull === 'replace') trial.expect(succeeded === LOGINS, what)
        else trial.expect(succeeded === max && statuses.every((one) => one === 200 || one === 409), what)
        await database.sql(`update login_tokens set revoked_at = now() where revoked_at is null`)
      }
      await logIn(members[0], email)
      const twice = await database
        .sql(
          `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
         select gen_random_uuid(), customer_id, name, sha256(token_hash), abilities, created_at
           from login_tokens where revoked_at is null`,
        )
        .then(
          () => true,
          () => false,
        )
      trial.expect(!twice, () => 'the database has two login tokens in one slot')
    },
  )
}

const LIVE = "select slot from login_tokens where name = 'login' and revoked_at is null"

/** Ten sessions, then the limit is three: the next login ends all but the newest. */
async function lowerLimit(trial: Trial): Promise<void> {
  const options = { revocation: 'strict', customers: 4, env: { LOGIN_SESSIONS: '10' } } as const
  await withCluster(trial, options, async ({ database, members, emails }) => {
    for (const email of emails) for (let i = 0; i < 10; i++) await logIn(members[i % 3] as Member, email)
    const lowered = { ...options, database, customers: 0, env: { LOGIN_SESSIONS: '3' } }
    await withCluster(trial, lowered, async ({ members }) => {
      for (const email of emails) {
        const response = await logIn(members[0], email)
        trial.expect(
          response?.status === 200,
          () => `a login after the limit was lowered: ${response?.status}`,
        )
      }
    })
    const held = await database.sql(
      `select count(*)::int as count, max(slot) as slot from login_tokens where revoked_at is null group by customer_id`,
    )
    for (const { count, slot } of held)
      trial.expect(count === 3 && slot === 3, () => `${count} sessions after 10 became 3, up to slot ${slot}`)
  })
}

/** Changes the password of one customer again and again. Each change races against logins and cached requests. */
async function raceChanges(trial: Trial, { members }: Cluster, email: string, rounds: number): Promise<void> {
  let [password, next] = [PASSWORD, ANOTHER_PASSWORD]
  for (let round = 0; round < rounds; round++) {
    const [current, other] = [
      await logIn(members[0], email, password),
      await logIn(members[1], email, password),
    ]
    const [token, otherToken] = [current?.body?.token, other?.body?.token]
    if (!token || !otherToken) {
      trial.require(false, () => `a login before the race: ${current?.status}, ${other?.status}`)
      return
    }
    for (const member of members) await post(member, '/api/me', { token: otherToken })
    const logins = [1, 2].map(async (index) => {
      await wait(Math.random() * 6)
      return logIn(members[index] as Member, email, password)
    })
    const requests = members.map((member) => post(member, '/api/me', { token: otherToken }))
    const changed = await post(members[round % 3] as Member, '/api/password', {
      token,
      body: { current_password: password, new_password: next },
    })
    trial.require(changed?.status === 200, () => `the change: ${changed?.status} ${changed?.body?.reason}`)
    if (changed?.status !== 200) return
    const after = await Promise.all(members.map((member) => post(member, '/api/me', { token: otherToken })))
    const raced = (await Promise.all(logins)).map((login) => login?.body?.token).filter(Boolean)
    await Promise.all(requests)
    const issued = await Promise.all(
      raced.flatMap((one) => members.map((member) => post(member, '/api/me', { token: one }))),
    )
    const mine = await Promise.all(members.map((member) => post(member, '/api/me', { token })))
    const old = await logIn(members[2], email, password)
    const codes = (all: typeof after) => all.map((response) => response?.status)
    trial.expect(
      [...codes(after), ...codes(issued), old?.status].every((status) => status === 401) &&
        codes(mine).every((status) => status === 200),
      () =>
        `others ${codes(after)}, raced ${codes(issued)}, old password ${old?.status}, mine ${codes(mine)}`,
    )
    ;[password, next] = [next, password]
    // The sessions of the round must not fill the slots.
    await post(members[0], '/api/sessions', { method: 'DELETE', token })
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
