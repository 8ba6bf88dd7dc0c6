import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { PASSWORD } from '../../tests/support/running-app.ts'
import type { OwnServer } from '../own-server.ts'
import type { Row } from '../row.ts'
import { isRefused, isRight, REFUSED_MS, shown, timed, untilServed, withServerScene } from '../scene.ts'

const STATES = 'src/adapters/postgres/connection/sql-state.ts'

/** The server works, but a lock or a connection is not available. */
export const contentionRows: readonly Row[] = [
  {
    id: 'H5',
    promise:
      "a locked token row: validation goes on, that customer's logout and login are 503, others unaffected",
    sizes: { ci: 3, release: 60 },
    mutants: [
      {
        name: 'a validation locks the row',
        file: 'src/adapters/postgres/login-tokens.ts',
        find: 'join customers on customers.id = login_tokens.customer_id`',
        replace: 'join customers on customers.id = login_tokens.customer_id for update of login_tokens`',
      },
      {
        name: 'the 503 has no Retry-After',
        file: 'src/adapters/http/response/failure-response.ts',
        find: "if (error.reason === 'unavailable') return ['Retry-After', '1']",
        replace: '',
      },
    ],
    run: (trial) =>
      withServerScene(trial, {}, async ({ server, app, email, token }) => {
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
          for (const [response, ms] of [logout, login]) {
            trial.expect(
              isRefused(response) && ms < REFUSED_MS,
              () => `${shown(response)} after ${Math.round(ms)} ms`,
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
    promise: 'pool and max_connections exhausted: 503 within a second, and 200 again afterwards',
    sizes: { ci: 3, release: 20 },
    mutants: [
      {
        name: 'too many connections count as a bug',
        file: STATES,
        find: "const BUG_CLASSES = ['0A',",
        replace: "const BUG_CLASSES = ['53', '0A',",
      },
    ],
    run: (trial) =>
      withServerScene(trial, { DATABASE_POOL_MAX: '2' }, async ({ server, app, email, token }) => {
        let slowestMs = 0
        for (let round = 0; round < trial.size; round++) {
          // Two logins occupy the only two connections, waiting for a locked row.
          const locker = new Client({ connectionString: server.database.url, application_name: 'prove' })
          await locker.connect()
          await locker.query('begin')
          await locker.query('select from customers where email = $1 for update', [email])
          const logins = Array.from({ length: 6 }, () =>
            app.call('/api/login', { body: { email, password: PASSWORD } }),
          )
          await sleep(100)
          for (const [response, ms] of await Promise.all(
            Array.from({ length: 5 }, () => timed(app.call('/api/me', { token }))),
          )) {
            slowestMs = Math.max(slowestMs, ms)
            trial.expect(
              isRight(response) && ms < REFUSED_MS,
              () => `pool: ${shown(response)} after ${Math.round(ms)} ms`,
            )
          }
          for (const login of await Promise.all(logins))
            trial.expect(isRefused(login), () => `a waiting login is ${shown(login)}`)
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
            isRefused(full) && ms < REFUSED_MS,
            () => `server: ${shown(full)} after ${Math.round(ms)} ms`,
          )
          await Promise.all(held.map((client) => client.end()))
          await untilServed(trial, () => app.call('/api/me', { token }))
        }
        trial.note(`refused after at most ${Math.round(slowestMs)} ms`)
      }),
  },
]

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
