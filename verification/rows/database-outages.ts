import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { PASSWORD } from '../../tests/support/running-app.ts'
import type { Row } from '../row.ts'
import { isRefused, isRight, kill, REFUSED_MS, shown, timed, untilServed, withServerScene } from '../scene.ts'

const POOL = 'src/adapters/postgres/connection/pool.ts'
const STATES = 'src/adapters/postgres/connection/sql-state.ts'

/** The database server is killed or frozen, or terminates its connections. */
export const outageRows: readonly Row[] = [
  {
    id: 'H1',
    promise: 'postmaster and backends killed under load: only 200 or 503, no acknowledged revocation lost',
    sizes: { ci: 2, release: 20 },
    mutants: [
      {
        name: 'the error of a lost connection has no listener',
        file: POOL,
        find: "client.on('error', (error: Error) => onEvent({ kind: 'connection_lost', detail: error.message }))",
        replace: 'void client',
      },
      {
        name: 'a database failure counts as an unknown token',
        file: 'src/application/use-cases/authenticate.ts',
        find: 'deadline.run((timeoutMs) => loginTokens.findByDigest(digest, timeoutMs))',
        replace:
          'deadline.run(async (timeoutMs) => loginTokens.findByDigest(digest, timeoutMs)).catch(() => null)',
      },
    ],
    run: (trial) =>
      withServerScene(trial, {}, async ({ server, app, token }) => {
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
          trial.expect(status === 401, () => `a revoked token gets ${status}`)
        }
        trial.note(
          `${revoked.length} acknowledged revocations, 0 lost; served again ${Math.round(Math.max(...healing))} ms after the kill at the most`,
        )

        async function loop(step: () => Promise<void>): Promise<void> {
          while (!isOver) await step()
        }
        async function accepted(secret: string): Promise<void> {
          const response = await app.call('/api/me', { token: secret })
          trial.expect(isRight(response), () => `a good token gets ${shown(response)}`)
          if (response.status !== 200) await sleep(10)
        }
        async function revocation(email: string): Promise<void> {
          const login = await app.call('/api/login', { body: { email, password: PASSWORD } })
          trial.expect(isRight(login), () => `a right login gets ${shown(login)}`)
          if (login.status !== 200) return void (await sleep(10))
          const logout = await app.call('/api/logout', { token: login.body.token })
          // An unknown outcome may have been a revocation.
          trial.expect(isRight(logout), () => `a logout gets ${shown(logout)}`)
          if (logout.status === 200) revoked.push(login.body.token)
        }
      }),
  },
  {
    id: 'H2',
    promise: 'the whole server frozen: refused in time, no additional sockets, healthy once it resumes',
    sizes: { ci: 3, release: 30 },
    mutants: [
      {
        name: 'a request waits without a limit',
        file: POOL,
        find: '      }, timeoutMs)',
        replace: '      }, timeoutMs * 4)',
      },
    ],
    run: (trial) =>
      withServerScene(trial, {}, async ({ server, app, token }) => {
        await Promise.all(Array.from({ length: 30 }, () => app.call('/api/me', { token })))
        const { postmaster, children } = server.processes()
        const frozen = [postmaster, ...children]
        for (const pid of frozen) kill(pid, 'SIGSTOP')
        let slowestMs = 0
        try {
          for (const endMs = performance.now() + trial.size * 1000; performance.now() < endMs; ) {
            const calls = Array.from({ length: 20 }, () => timed(app.call('/api/me', { token })))
            for (const [response, ms] of await Promise.all(calls)) {
              slowestMs = Math.max(slowestMs, ms)
              trial.expect(
                isRefused(response) && ms < REFUSED_MS,
                () => `${shown(response)} after ${Math.round(ms)} ms`,
              )
            }
            const ready = await app.call('/readyz', { method: 'GET' })
            trial.expect(isRefused(ready), () => `readyz is ${shown(ready)}`)
            const live = await app.call('/livez', { method: 'GET' })
            trial.expect(live.status === 200, () => `livez is ${live.status}`)
          }
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
        name: 'the error of a lost connection has no listener',
        file: POOL,
        find: "client.on('error', (error: Error) => onEvent({ kind: 'connection_lost', detail: error.message }))",
        replace: 'void client',
      },
      {
        name: 'a terminated backend counts as a bug',
        file: STATES,
        find: "const BUG_CLASSES = ['0A',",
        replace: "const BUG_CLASSES = ['57', '0A',",
      },
    ],
    run: (trial) =>
      withServerScene(trial, {}, async ({ server, app, token }) => {
        const killer = new Client({ connectionString: server.database.url, application_name: 'prove' })
        await killer.connect()
        let isOver = false
        let refused = 0
        const load = Array.from({ length: 8 }, async () => {
          while (!isOver) {
            const response = await app.call('/api/me', { token })
            if (response.status === 503) refused++
            trial.expect(isRight(response), () => shown(response))
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
        trial.note(`${kills} backends terminated, ${refused} responses were 503`)
      }),
  },
]
