import { setTimeout as sleep } from 'node:timers/promises'
import { PASSWORD } from '../../tests/support/running-app.ts'
import { startLatchkey } from '../../tests/support/running-process.ts'
import { openTcpProxy, type TcpProxy } from '../../tests/support/tcp-proxy.ts'
import { databaseAt } from '../own-server.ts'
import { type PlainServer, SYNCHRONOUS, withPlainServers } from '../plain-servers.ts'
import type { Row, Trial } from '../row.ts'
import { isRefused, isRight, type Scene, shown, untilServed, withScene } from '../scene.ts'

const POOL = 'src/adapters/postgres/connection/pool.ts'
const CHECK = 'src/adapters/postgres/connection/server-faults.ts'
const HEALED_MS = 5000

/** The server has changed, or is of a kind that would break the promises. */
export const failoverRows: readonly Row[] = [
  {
    id: 'H7',
    promise: 'a failover, sessions that become read-only: writes get 503, no false 401, healed within 5 s',
    sizes: { ci: 1, release: 10 },
    mutants: [
      {
        name: 'a read-only connection is reused',
        file: POOL,
        find: 'if (health.sawReadOnly) beginNewEra()',
        replace: '',
      },
      {
        name: 'a refused write counts as a bug',
        file: 'src/adapters/postgres/connection/sql-state.ts',
        find: "['25006', { dropped: true }],",
        replace: '',
      },
      {
        name: 'a standby serves',
        file: 'src/adapters/postgres/connection/session-settings.ts',
        find: 'rows[0]?.is_standby !== false',
        replace: 'false',
      },
    ],
    async run(trial) {
      const healed = { readOnly: 0, promoted: 0 }
      for (let round = 0; round < trial.size; round++) {
        await withPlainServers(trial, async (launch) => {
          const primary = await launch({ settings: SYNCHRONOUS })
          const following = { primary_conninfo: primary.database.url }
          const standby = await launch({ settings: following, isStandby: true })
          const proxy = await openTcpProxy(primary.database.url)
          try {
            await withScene(trial, databaseAt(proxy.url), {}, async (scene) => {
              healed.readOnly = Math.max(healed.readOnly, await turnReadOnly(trial, scene))
              healed.promoted = Math.max(
                healed.promoted,
                await failOver(trial, scene, primary, standby, proxy),
              )
            })
          } finally {
            await proxy.close()
          }
        })
      }
      trial.note(
        `writes were served ${Math.round(healed.readOnly)} ms after sessions could write again, and ` +
          `${Math.round(healed.promoted)} ms after the promotion was ordered, at the most`,
      )
    },
  },
  {
    id: 'H10',
    promise: 'a server that would break the promises is refused at the start, in one line',
    sizes: { ci: 1, release: 1 },
    mutants: [
      {
        name: 'synchronous_commit is not checked',
        file: CHECK,
        find: "synchronous_commit === 'off'",
        replace: 'false',
      },
      { name: 'fsync is not checked', file: CHECK, find: "fsync === 'off'", replace: 'false' },
      { name: 'the encoding is not checked', file: CHECK, find: "encoding !== 'UTF8'", replace: 'false' },
      { name: 'a standby is not detected', file: CHECK, find: 'if (is_standby)', replace: 'if (false)' },
      {
        name: 'a newer schema is not detected',
        file: 'src/adapters/postgres/pending-migrations.ts',
        find: 'if (newer.length > 0)',
        replace: 'if (false)',
      },
    ],
    run: (trial) =>
      withPlainServers(trial, async (launch) => {
        const standby = await launch({ settings: { hot_standby: 'on' }, isStandby: true })
        const primary = await launch()
        await Promise.all([unsuited(), spoilt()])

        async function unsuited(): Promise<void> {
          await refused('a standby', standby.database.url, /standby/)
          await primary.database.sql(
            `create database ascii encoding 'SQL_ASCII' locale_provider libc locale 'C' template template0`,
          )
          await refused('SQL_ASCII', primary.serverUrl('ascii'), /encoding/)
        }
        async function spoilt(): Promise<void> {
          const { url, sql } = primary.database
          await sql('create table latchkey_migrations (id serial primary key, name text, run_on timestamp)')
          await sql(`insert into latchkey_migrations (name, run_on) values ('9999_from_the_future', now())`)
          await refused('a newer schema', url, /newer/)
          await sql('alter database latchkey set synchronous_commit = off')
          await refused('synchronous_commit=off', url, /synchronous_commit/)
          await sql('alter database latchkey reset synchronous_commit')
          await sql('alter system set fsync = off')
          await sql('select pg_reload_conf()')
          await refused('fsync=off', url, /fsync/)
        }
        async function refused(name: string, url: string, why: RegExp): Promise<void> {
          const env = { PORT: '0', DATABASE_URL: url, DRAIN_DEADLINE: '1s' }
          const service = startLatchkey(['serve'], { cwd: trial.folder, env })
          const ended = await Promise.race([
            service.ended,
            service.until(/service\.started/).then(() => null),
          ])
          service.child.kill('SIGKILL')
          const isRefusal = ended?.code === 1 && /^latchkey: [^\n]+\n$/.test(ended.stderr)
          trial.expect(
            isRefusal && why.test(ended.stderr),
            () => `${name}: ${ended === null ? 'it started' : `exit ${ended.code}: ${ended.stderr}`}`,
          )
          const { password } = new URL(url)
          trial.require(
            !`${service.stdout()}${service.stderr()}`.includes(password),
            () => 'the password is printed',
          )
        }
      }),
  },
]

/** Returns the time from when sessions may write again until a write succeeds, in milliseconds. */
async function turnReadOnly(trial: Trial, { app, token }: Scene): Promise<number> {
  const writers = await Promise.all(Array.from({ length: 10 }, () => app.addCustomer()))
  const login = (writer: number) =>
    app.call('/api/login', { body: { email: writers[writer]?.email, password: PASSWORD } })
  await app.database.sql('alter database latchkey set default_transaction_read_only = on')
  await app.database.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'latchkey'`,
  )
  await sleep(100)
  for (let i = 0; i < 5; i++) {
    const response = await login(0)
    trial.expect(isRefused(response), () => `a login is ${shown(response)}`)
    // Enough concurrent requests that every connection of the pool has a read-only session.
    const reads = await Promise.all(Array.from({ length: 30 }, () => app.call('/api/me', { token })))
    for (const me of reads) trial.expect(isRight(me), () => `me is ${shown(me)}`)
    trial.expect(!reads.every(isRefused), () => 'no read was served')
  }
  // As after a failover, the existing connections stay read-only.
  await app.database.sql(
    'begin read write; alter database latchkey set default_transaction_read_only = off; commit',
  )
  let refusals = 0
  const healedMs = await untilServed(
    trial,
    async () => {
      const response = await login(0)
      if (response.status !== 200) refusals++
      return response
    },
    HEALED_MS,
  )
  trial.expect(refusals <= 2, () => `${refusals} connections failed one by one as read-only`)
  for (const response of await Promise.all(writers.map((_, writer) => login(writer)))) {
    trial.expect(response.status === 200, () => `a connection is still read-only: ${shown(response)}`)
  }
  return healedMs
}

/**
 * The primary dies and its standby takes over. Returns the time from the promotion until a write succeeds, in
 * milliseconds.
 */
async function failOver(
  trial: Trial,
  { app, token }: Scene,
  primary: PlainServer,
  standby: PlainServer,
  proxy: TcpProxy,
): Promise<number> {
  const [writer, ...leaving] = await Promise.all(Array.from({ length: 6 }, () => app.addCustomer()))
  const login = () => app.call('/api/login', { body: { email: writer?.email, password: PASSWORD } })
  const me = (secret: string) => app.call('/api/me', { token: secret })
  const revoked = await Promise.all(
    leaving.map(async ({ email }) => {
      const secret = await app.login(email)
      const response = await app.call('/api/logout', { token: secret })
      trial.expect(response.status === 200, () => `a logout is ${shown(response)}`)
      return secret
    }),
  )
  let isOver = false
  const load = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const response = await me(token)
      trial.expect(isRight(response), () => `a good token gets ${shown(response)}`)
      if (response.status !== 200) await sleep(10)
    }
  })

  await primary.crash()
  proxy.leadTo(standby.database.url)
  for (let i = 0; i < 5; i++) {
    const responses = await Promise.all([login(), me(token), app.call('/api/logout', { token })])
    for (const response of responses) {
      trial.expect(isRefused(response), () => `before the promotion: ${shown(response)}`)
    }
  }
  // Readiness changes after about a second.
  const unready = () => app.call('/readyz', { method: 'GET' })
  const endMs = performance.now() + 5000
  while ((await unready()).status === 200 && performance.now() < endMs) await sleep(50)
  trial.expect(isRefused(await unready()), () => 'readyz is 200')
  trial.expect(
    app.logLines.some((line) => line.includes('database.standby_refused')),
    () => 'the standby received no query',
  )

  const beganMs = performance.now()
  await standby.database.sql('select pg_promote()')
  await untilServed(trial, login, HEALED_MS)
  const healedMs = performance.now() - beganMs
  isOver = true
  await Promise.all(load)
  for (const [response, status] of [
    [await me(token), 200],
    ...(await Promise.all(revoked.map(me))).map((response) => [response, 401] as const),
    [await app.call('/api/logout', { token }), 200],
    [await me(token), 401],
  ] as const) {
    trial.expect(response.status === status, () => `after it: ${shown(response)}, not ${status}`)
  }
  return healedMs
}
