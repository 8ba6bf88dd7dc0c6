import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { type Called, PASSWORD, type RunningApp, startApp } from '../../support/running-app.ts'
import { startLatchkey, temporaryFolder } from '../../support/running-process.ts'
import { type OwnServer, withOwnServer } from '../own-server.ts'
import type { Row, Trial } from '../row.ts'

const POOL = 'src/adapters/postgres/pool.ts'
const STATES = 'src/adapters/postgres/sql-state.ts'
const CHECK = 'src/adapters/postgres/check-server.ts'
const REFUSED_MS = 2000
const HEALED_MS = 10_000

interface Scene {
  readonly server: OwnServer
  readonly app: RunningApp
  readonly email: string
  readonly token: string
}

/** An app whose every validation reaches the database, on a server of its own, with somebody logged in. */
async function withScene(
  trial: Trial,
  env: Record<string, string>,
  play: (scene: Scene) => Promise<void>,
): Promise<void> {
  await withOwnServer(async (server) => {
    const app = await startApp({ database: server.database, env: { TOKEN_CACHE_TTL: '0s', ...env } })
    try {
      const { email } = await app.addCustomer()
      await play({ server, app, email, token: await app.login(email) })
      const bugs = app.logLines.filter((line) => line.includes('"level":"error"'))
      trial.expect(bugs.length === 0, () => `logged: ${bugs[0]}`)
    } finally {
      await app.close()
    }
  })
}

/** A good token may only be accepted, or told to come again: never a false 401, never a 500. */
function rightAnswer({ status, headers, body }: Called): boolean {
  if (status === 200) return true
  return status === 503 && headers.get('retry-after') === '1' && body.reason === 'unavailable'
}

async function timed<T>(call: Promise<T>): Promise<readonly [T, number]> {
  const beganMs = performance.now()
  return [await call, performance.now() - beganMs]
}

/** Milliseconds until the call is answered 200. */
async function untilServed(trial: Trial, call: () => Promise<Called>): Promise<number> {
  const beganMs = performance.now()
  for (;;) {
    const answer = await call()
    const ms = performance.now() - beganMs
    if (answer.status === 200 || ms > HEALED_MS) {
      trial.expect(answer.status === 200, () => `not healed within ${HEALED_MS} ms: ${answer.status}`)
      return ms
    }
    await sleep(20)
  }
}

export const outageRows: readonly Row[] = [
  {
    id: 'H1',
    promise: 'postmaster and backends killed under load: only 200 or 503, no acknowledged revocation lost',
    sizes: { ci: 2, release: 20 },
    mutants: [
      {
        name: 'nobody listens to a lost connection',
        file: POOL,
        find: "client.on('error', (error: Error) => onEvent({ kind: 'connection_lost', detail: error.message }))",
        replace: 'void client',
      },
      {
        name: 'a dead database is an unknown token',
        file: 'src/application/authenticate.ts',
        find: 'const owned = await patience.wait((waitMs) => loginTokens.findByDigest(digest, waitMs))',
        replace:
          'const owned = await patience.wait((waitMs) => loginTokens.findByDigest(digest, waitMs)).catch(() => null)',
      },
    ],
    run: (trial) =>
      withScene(trial, {}, async ({ server, app, token }) => {
        const revoked: string[] = []
        let isOver = false
        const load = [
          ...Array.from({ length: 4 }, () => loop(() => accepted(token))),
          ...Array.from({ length: 2 }, async () => {
            const { email } = await app.addCustomer()
            await loop(() => revocation(email))
          }),
        ]
        const healing: number[] = []
        for (let round = 0; round < trial.size; round++) {
          await sleep(300)
          const { postmaster, children } = server.processes()
          for (const pid of [postmaster, ...children]) kill(pid, 'SIGKILL')
          healing.push(await untilServed(trial, () => app.call('/api/me', { token })))
        }
        await sleep(300)
        isOver = true
        await Promise.all(load)
        for (const secret of revoked) {
          const { status } = await app.call('/api/me', { token: secret })
          trial.expect(status === 401, () => `a revoked token is answered ${status}`)
        }
        trial.note(
          `${revoked.length} acknowledged revocations, 0 lost; served again ${Math.round(Math.max(...healing))} ms after the kill at the most`,
        )

        async function loop(step: () => Promise<void>): Promise<void> {
          while (!isOver) await step()
        }
        async function accepted(secret: string): Promise<void> {
          const answer = await app.call('/api/me', { token: secret })
          trial.expect(
            rightAnswer(answer),
            () => `a good token is answered ${answer.status} ${JSON.stringify(answer.body)}`,
          )
          if (answer.status !== 200) await sleep(10)
        }
        async function revocation(email: string): Promise<void> {
          const login = await app.call('/api/login', { body: { email, password: PASSWORD } })
          trial.expect(rightAnswer(login), () => `a right login is answered ${login.status}`)
          if (login.status !== 200) return void (await sleep(10))
          const logout = await app.call('/api/logout', { token: login.body.token })
          // An outcome that was unknown may have been a revocation.
          trial.expect(rightAnswer(logout), () => `a logout is answered ${logout.status}`)
          if (logout.status === 200) revoked.push(login.body.token)
        }
      }),
  },
  {
    id: 'H2',
    promise: 'the whole server frozen: refused in time, sockets flat, healthy once it goes on',
    sizes: { ci: 3, release: 30 },
    mutants: [
      {
        name: 'a caller waits for as long as it takes',
        file: POOL,
        find: '      }, waitMs)',
        replace: '      }, waitMs * 4)',
      },
    ],
    run: (trial) =>
      withScene(trial, {}, async ({ server, app, token }) => {
        await Promise.all(Array.from({ length: 30 }, () => app.call('/api/me', { token })))
        const { postmaster, children } = server.processes()
        const frozen = [postmaster, ...children]
        for (const pid of frozen) kill(pid, 'SIGSTOP')
        let slowestMs = 0
        try {
          for (const endMs = performance.now() + trial.size * 1000; performance.now() < endMs; ) {
            const calls = Array.from({ length: 20 }, () => timed(app.call('/api/me', { token })))
            for (const [answer, ms] of await Promise.all(calls)) {
              slowestMs = Math.max(slowestMs, ms)
              trial.expect(
                answer.status === 503 && rightAnswer(answer) && ms < REFUSED_MS,
                () => `${answer.status} after ${Math.round(ms)} ms`,
              )
            }
            const ready = await app.call('/readyz', { method: 'GET' })
            trial.expect(ready.status === 503, () => `readyz is ${ready.status}`)
            const live = await app.call('/livez', { method: 'GET' })
            trial.expect(live.status === 200, () => `livez is ${live.status}`)
          }
          trial.expect(
            app.service.database.pool.size() <= 10,
            () => `${app.service.database.pool.size()} connections`,
          )
        } finally {
          for (const pid of frozen) kill(pid, 'SIGCONT')
        }
        const healedMs = await untilServed(trial, () => app.call('/api/me', { token }))
        trial.note(
          `refused after at most ${Math.round(slowestMs)} ms; served ${Math.round(healedMs)} ms after it went on`,
        )
        await sleep(500)
        const [row] = await server.database.sql<{ backends: string }>(
          `select count(*) as backends from pg_stat_activity where application_name = 'latchkey'`,
        )
        trial.expect(Number(row?.backends) <= 11, () => `${row?.backends} backends afterwards`)
      }),
  },
  {
    id: 'H4',
    promise: 'backends terminated every 50 ms under load: only 200 or 503, the process lives',
    sizes: { ci: 5, release: 60 },
    mutants: [
      {
        name: 'nobody listens to a lost connection',
        file: POOL,
        find: "client.on('error', (error: Error) => onEvent({ kind: 'connection_lost', detail: error.message }))",
        replace: 'void client',
      },
      {
        name: 'a terminated backend is a bug',
        file: STATES,
        find: "const BUG_CLASSES = ['0A',",
        replace: "const BUG_CLASSES = ['57', '0A',",
      },
    ],
    run: (trial) =>
      withScene(trial, {}, async ({ server, app, token }) => {
        const killer = new Client({ connectionString: server.database.url, application_name: 'prove' })
        await killer.connect()
        let isOver = false
        let refused = 0
        const load = Array.from({ length: 8 }, async () => {
          while (!isOver) {
            const answer = await app.call('/api/me', { token })
            if (answer.status === 503) refused++
            trial.expect(rightAnswer(answer), () => `${answer.status} ${JSON.stringify(answer.body)}`)
          }
        })
        let kills = 0
        for (
          const endMs = performance.now() + trial.size * 1000;
          performance.now() < endMs;
          await sleep(50)
        ) {
          const { rowCount } = await killer.query(
            `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'latchkey' and pid <> pg_backend_pid()`,
          )
          kills += rowCount ?? 0
        }
        isOver = true
        await Promise.all(load)
        await killer.end()
        await untilServed(trial, () => app.call('/api/me', { token }))
        trial.note(`${kills} backends terminated, ${refused} answers were 503`)
      }),
  },
  {
    id: 'H5',
    promise:
      "a locked token row: validation goes on, that customer's logout and login are 503, others unaffected",
    sizes: { ci: 3, release: 60 },
    mutants: [
      {
        name: 'a validation locks the row',
        file: 'src/adapters/postgres/login-tokens.ts',
        find: 'where login_tokens.token_hash = $1',
        replace: 'where login_tokens.token_hash = $1 for update of login_tokens',
      },
    ],
    run: (trial) =>
      withScene(trial, {}, async ({ server, app, email, token }) => {
        const other = await app.addCustomer()
        const otherToken = await app.login(other.email)
        const locker = new Client({ connectionString: server.database.url, application_name: 'prove' })
        await locker.connect()
        await locker.query('begin')
        await locker.query(
          'select from login_tokens t join customers c on c.id = t.customer_id where c.email = $1 for update of t',
          [email],
        )
        for (const endMs = performance.now() + trial.size * 1000; performance.now() < endMs; ) {
          const [me, logout, login, othersMe, othersLogin] = await Promise.all([
            app.call('/api/me', { token }),
            timed(app.call('/api/logout', { token })),
            timed(app.call('/api/login', { body: { email, password: PASSWORD } })),
            app.call('/api/me', { token: otherToken }),
            app.call('/api/login', { body: { email: (await app.addCustomer()).email, password: PASSWORD } }),
          ])
          trial.expect(me.status === 200, () => `me is ${me.status}`)
          for (const [answer, ms] of [logout, login]) {
            trial.expect(
              answer.status === 503 && ms < REFUSED_MS,
              () => `${answer.status} after ${Math.round(ms)} ms`,
            )
          }
          trial.expect(
            othersMe.status === 200 && othersLogin.status === 200,
            () => `others are ${othersMe.status} and ${othersLogin.status}`,
          )
        }
        await locker.query('rollback')
        await locker.end()
        const logout = await app.call('/api/logout', { token })
        trial.expect(logout.status === 200, () => `the logout afterwards is ${logout.status}`)
      }),
  },
  {
    id: 'H6',
    promise: 'pool and max_connections exhausted: 503 within a second, served again afterwards',
    sizes: { ci: 3, release: 20 },
    mutants: [
      {
        name: 'too many connections are a bug',
        file: STATES,
        find: "const BUG_CLASSES = ['0A',",
        replace: "const BUG_CLASSES = ['53', '0A',",
      },
    ],
    run: (trial) =>
      withScene(trial, { DATABASE_POOL_MAX: '2' }, async ({ server, app, email, token }) => {
        let slowestMs = 0
        for (let round = 0; round < trial.size; round++) {
          // Two logins wait for a locked row with the only two connections.
          const locker = new Client({ connectionString: server.database.url, application_name: 'prove' })
          await locker.connect()
          await locker.query('begin')
          await locker.query('select from customers where email = $1 for update', [email])
          const logins = Array.from({ length: 6 }, () =>
            app.call('/api/login', { body: { email, password: PASSWORD } }),
          )
          await sleep(100)
          for (const [answer, ms] of await Promise.all(
            Array.from({ length: 5 }, () => timed(app.call('/api/me', { token }))),
          )) {
            slowestMs = Math.max(slowestMs, ms)
            trial.expect(
              rightAnswer(answer) && ms < REFUSED_MS,
              () => `pool: ${answer.status} after ${Math.round(ms)} ms`,
            )
          }
          for (const login of await Promise.all(logins))
            trial.expect(login.status === 503, () => `a waiting login is ${login.status}`)
          await locker.query('rollback')
          await locker.end()
          await untilServed(trial, () => app.call('/api/me', { token }))

          await server.database.sql(
            `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'latchkey' and query not like 'listen%'`,
          )
          const held = await takeAll(server)
          const [full, ms] = await timed(app.call('/api/me', { token }))
          slowestMs = Math.max(slowestMs, ms)
          trial.expect(held.length > 50, () => `only ${held.length} connections could be taken`)
          trial.expect(
            full.status === 503 && rightAnswer(full) && ms < REFUSED_MS,
            () => `server: ${full.status} after ${Math.round(ms)} ms`,
          )
          await Promise.all(held.map((client) => client.end()))
          await untilServed(trial, () => app.call('/api/me', { token }))
        }
        trial.note(`refused after at most ${Math.round(slowestMs)} ms`)
      }),
  },
  {
    id: 'H7',
    promise: 'sessions turn read-only (a failover): writes 503, reads go on, healed once it is over',
    sizes: { ci: 2, release: 10 },
    mutants: [
      {
        name: 'a read-only connection is kept',
        file: POOL,
        find: 'if (health.sawReadOnly) beginNewEra()',
        replace: '',
      },
      { name: 'a refused write is a bug', file: STATES, find: "['25006', { dropped: true }],", replace: '' },
    ],
    run: (trial) =>
      withScene(trial, {}, async ({ server, app, email, token }) => {
        const login = () => app.call('/api/login', { body: { email, password: PASSWORD } })
        const others = await Promise.all(Array.from({ length: 10 }, () => app.addCustomer()))
        let slowestMs = 0
        for (let round = 0; round < trial.size; round++) {
          await server.database.sql('alter database latchkey set default_transaction_read_only = on')
          await server.database.sql(
            `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'latchkey'`,
          )
          await sleep(100)
          for (let i = 0; i < 5; i++) {
            const answer = await login()
            trial.expect(answer.status === 503 && rightAnswer(answer), () => `a login is ${answer.status}`)
            // Enough at once that every connection of the pool is of a read-only session.
            const reads = await Promise.all(Array.from({ length: 30 }, () => app.call('/api/me', { token })))
            const me = reads.find((read) => read.status !== 200) ?? answer
            trial.expect(rightAnswer(me) || (round > 0 && me.status === 401), () => `me is ${me.status}`)
          }
          // As after a failover: the connections that were made before stay as they are.
          const writer = new Client({ connectionString: server.database.url, application_name: 'prove' })
          await writer.connect()
          await writer.query('set default_transaction_read_only = off')
          await writer.query('alter database latchkey set default_transaction_read_only = off')
          await writer.end()
          let refused = 0
          const counted = async () => {
            const answer = await login()
            if (answer.status !== 200) refused++
            return answer
          }
          slowestMs = Math.max(slowestMs, await untilServed(trial, counted))
          trial.expect(refused <= 2, () => `${refused} connections told one by one that they are read-only`)
          const logins = others.map((other) =>
            app.call('/api/login', { body: { email: other.email, password: PASSWORD } }),
          )
          for (const { status } of await Promise.all(logins)) {
            trial.expect(status === 200, () => 'a connection is still read-only')
          }
        }
        trial.note(`writes were served ${Math.round(slowestMs)} ms after it was over, at the most`)
      }),
  },
  {
    id: 'H10',
    promise: 'a server that would break the promises is refused at the start, in one line',
    sizes: { ci: 1, release: 1 },
    mutants: [
      {
        name: 'synchronous_commit is not looked at',
        file: CHECK,
        find: "synchronous_commit === 'off'",
        replace: 'false',
      },
      { name: 'the encoding is not looked at', file: CHECK, find: "encoding !== 'UTF8'", replace: 'false' },
      {
        name: 'a newer schema is not noticed',
        file: 'src/adapters/postgres/migrations.ts',
        find: 'if (unknown.length > 0) {',
        replace: 'if (false) {',
      },
    ],
    run: (trial) =>
      withOwnServer(async (server) => {
        const { sql } = server.database
        await sql(
          `create database ascii encoding 'SQL_ASCII' locale_provider libc locale 'C' template template0`,
        )
        await sql('create database careless template template0')
        await sql('alter database careless set synchronous_commit = off')
        await sql('create database newer template template0')
        await sql('create database standby template template0')
        await sqlOf(
          server,
          'newer',
          'create table latchkey_migrations (id serial primary key, name text, run_on timestamp)',
          `insert into latchkey_migrations (name, run_on) values ('9999_from_the_future', now())`,
        )
        await sqlOf(
          server,
          'standby',
          'create schema fake',
          `create function fake.pg_is_in_recovery() returns boolean language sql as 'select true'`,
          'alter database standby set search_path = fake, pg_catalog, public',
        )
        const folder = await temporaryFolder()
        try {
          for (const [database, pattern] of [
            ['ascii', /encoding/],
            ['careless', /synchronous_commit/],
            ['newer', /newer/],
            ['standby', /standby/],
          ] as const) {
            const env = { PORT: '0', DATABASE_URL: server.urlOf(database), DRAIN_DEADLINE: '1s' }
            const service = startLatchkey(['serve'], { cwd: folder.path, env })
            const ended = await Promise.race([service.ended, sleep(10_000, null)])
            service.child.kill('SIGKILL')
            const isRefused =
              ended?.code === 1 && /^latchkey: [^\n]+\n$/.test(ended.stderr) && pattern.test(ended.stderr)
            trial.expect(
              isRefused,
              () => `${database}: ${ended === null ? 'it started' : `exit ${ended.code}: ${ended.stderr}`}`,
            )
          }
        } finally {
          folder.remove()
        }
      }),
  },
]

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended by itself.
  }
}

async function takeAll({ database }: OwnServer): Promise<Client[]> {
  const held: Client[] = []
  for (;;) {
    const client = new Client({ connectionString: database.url, application_name: 'prove' })
    client.on('error', () => {})
    try {
      await client.connect()
      held.push(client)
    } catch {
      return held
    }
  }
}

async function sqlOf(server: OwnServer, database: string, ...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: server.urlOf(database), application_name: 'prove' })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}
