import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningApp } from '../../tests/support/running-app.ts'
import { openTcpProxy, type TcpProxy } from '../../tests/support/tcp-proxy.ts'
import { addCrowd, loginOf } from '../crowd.ts'
import { databaseAt } from '../own-server.ts'
import { type PlainServer, SYNCHRONOUS, withPlainServers } from '../plain-servers.ts'
import type { Row, Trial } from '../row.ts'
import { isRefused, isRight, type Scene, shown, untilServed, withScene } from '../scene.ts'

const WRITERS = 8
const LEAVING = 4
const HEALED_MS = 5000
/** Longer than two heartbeats without a response, of a second each. */
const ALONE_MS = 2000

/** Whether acknowledged revocations survive the loss of the primary. */
export const standbyRows: readonly Row[] = [
  {
    id: 'H8',
    promise: 'a primary killed under load, its synchronous standby promoted: no acknowledged revocation lost',
    sizes: { ci: 1, release: 20 },
    mutants: [
      {
        name: 'the primary waits for no standby',
        file: 'verification/plain-servers.ts',
        find: "synchronous_standby_names: '*'",
        replace: "synchronous_standby_names: ''",
      },
      {
        name: 'sessions do not wait for the standby',
        file: 'src/adapters/postgres/connection/session-settings.ts',
        find: "set_config('datestyle', 'ISO', false),",
        replace: "set_config('datestyle', 'ISO', false), set_config('synchronous_commit', 'local', false),",
      },
      {
        name: 'a logout is acknowledged before its commit',
        file: 'src/application/use-cases/logout.ts',
        find: 'loginTokens.revoke({ id: token.id, digest }, clock.nowMs(), timeoutMs)',
        replace:
          'Promise.race([loginTokens.revoke({ id: token.id, digest }, clock.nowMs(), timeoutMs).catch(() => true), new Promise((resolve) => setTimeout(resolve, 500, true))])',
      },
      {
        name: 'a commit whose wait was cancelled counts as committed',
        file: 'src/adapters/postgres/connection/client-session.ts',
        find: 'if (isOnPrimaryOnly)',
        replace: 'if (false)',
      },
      {
        name: 'a heartbeat waits at the server without a limit',
        file: 'src/adapters/postgres/revocation/publisher.ts',
        find: "set_config('lock_timeout', '800ms', true)",
        replace: "set_config('lock_timeout', '0', true)",
      },
    ],
    async run(trial) {
      const all = { acknowledged: 0, unknown: 0, healedMs: 0 }
      for (let round = 0; round < trial.size; round++) {
        await withPlainServers(trial, async (launch) => {
          const primary = await launch({ settings: SYNCHRONOUS })
          const wire = await openTcpProxy(primary.database.url)
          const proxy = await openTcpProxy(primary.database.url)
          try {
            const standby = await launch({ settings: { primary_conninfo: wire.url }, isStandby: true })
            await withScene(trial, databaseAt(proxy.url), { TOKEN_CACHE_TTL: '60s' }, async (scene) => {
              // Every second time the standby has missed something when it takes over.
              const cut = round % 2 === 0 ? wire : null
              const of = await failOver(trial, scene, { primary, standby, proxy, cut })
              all.acknowledged += of.acknowledged
              all.unknown += of.unknown
              all.healedMs = Math.max(all.healedMs, of.healedMs)
            })
          } finally {
            await proxy.close()
            await wire.close()
          }
        })
      }
      trial.note(
        `${trial.size} failovers: ${all.acknowledged} logouts acknowledged before the primary was lost; ` +
          `${all.unknown} were refused around it, or while the standby could not be reached`,
      )
      trial.note(
        `writes were served ${Math.round(all.healedMs)} ms after the promotion was ordered, at the most`,
      )
    },
  },
]

interface Servers {
  readonly primary: PlainServer
  readonly standby: PlainServer
  /** The proxy between the service and the database. */
  readonly proxy: TcpProxy
  /** The proxy between the two servers, to be cut before the primary is lost. */
  readonly cut: TcpProxy | null
}

/** Kills the primary during logins and logouts, and promotes its standby. */
async function failOver(
  trial: Trial,
  { app, token }: Scene,
  { primary, standby, proxy, cut }: Servers,
): Promise<{ acknowledged: number; unknown: number; healedMs: number }> {
  const [first = '', last = '', ...emails] = await addCrowd(app, 2 + LEAVING + WRITERS, 4)
  const leaving = await Promise.all(emails.splice(0, LEAVING).map((email) => app.login(email)))
  const load = loadOf(trial, app, emails, token)
  // Ten for each failover: 200 at release size.
  while (load.revoked.length < 10 * trial.size) await sleep(5)

  if (cut !== null) {
    const cancelled = await app.login(last)
    cut.strand()
    await withoutStandby(trial, app, primary, load, leaving)
    await cancelledBeside(primary, load.logout(cancelled))
  }
  await primary.crash()
  const acknowledged = load.revoked.length
  proxy.leadTo(standby.database.url)
  const beganMs = performance.now()
  await standby.database.sql('select pg_promote()')
  await untilServed(trial, () => loginOf(app, first), HEALED_MS)
  const healedMs = performance.now() - beganMs
  await load.end()

  for (const secret of load.unknown) {
    const { status } = await app.call('/api/logout', { token: secret })
    trial.expect(status === 200 || status === 401, () => `an unknown logout, repeated, is ${status}`)
  }
  for (const secret of [...load.revoked, ...load.unknown]) {
    const response = await app.call('/api/me', { token: secret })
    trial.expect(response.status === 401, () => `lost: a token that was revoked is ${shown(response)}`)
  }
  const cached = await app.call('/api/me', { token })
  trial.expect(cached.status === 200, () => `after it a good token is ${shown(cached)}`)
  return { acknowledged, unknown: load.unknown.length, healedMs }
}

/** Logs out while the primary cannot reach its standby: whatever is acknowledged now would be lost. */
async function withoutStandby(
  trial: Trial,
  app: RunningApp,
  { database }: PlainServer,
  load: Load,
  leaving: readonly string[],
): Promise<void> {
  const before = load.readings()
  const logouts = Promise.all(leaving.map(load.logout))
  await sleep(ALONE_MS)
  await logouts
  const [row] = await database.sql(
    `select count(*)::int as backends from pg_stat_activity where application_name = 'latchkey heartbeat'`,
  )
  trial.expect(row?.backends <= 1, () => `${row?.backends} backends of heartbeats`)
  const ready = await app.call('/readyz', { method: 'GET' })
  trial.expect(ready.status === 200, () => `readyz, which reads, is ${shown(ready)}`)
  trial.expect(load.readings() > before, () => 'nothing was read meanwhile')
}

/** Cancels the waiting commits, like an impatient operator. The server then reports success to connected clients. */
async function cancelledBeside({ database }: PlainServer, work: Promise<unknown>): Promise<void> {
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await database.sql(`select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`)
    await sleep(20)
  }
  await over
}

type Load = ReturnType<typeof loadOf>

/** Customers log in and out, and another client reads, until the load stops. */
function loadOf(trial: Trial, app: RunningApp, emails: readonly string[], token: string) {
  let isOver = false
  let readings = 0
  const revoked: string[] = []
  const unknown: string[] = []
  const loops = [...emails.map((email) => loop(() => comeAndGo(email))), loop(() => read(token))]

  return {
    /** Secrets whose logout got a 200. */
    revoked,
    /** Secrets whose logout got a 503. */
    unknown,
    readings: () => readings,
    logout,
    async end() {
      isOver = true
      await Promise.all(loops)
    },
  }

  async function loop(step: () => Promise<boolean>): Promise<void> {
    while (!isOver) if (!(await step())) await sleep(10)
  }
  async function read(secret: string): Promise<boolean> {
    const response = await app.call('/api/me', { token: secret })
    trial.expect(isRight(response), () => `a good token is ${shown(response)}`)
    if (response.status === 200) readings++
    return response.status === 200
  }
  async function comeAndGo(email: string): Promise<boolean> {
    const login = await loginOf(app, email)
    trial.expect(isRight(login), () => `a right login is ${shown(login)}`)
    if (login.status !== 200) return false
    await read(login.body.token)
    return logout(login.body.token)
  }
  async function logout(secret: string): Promise<boolean> {
    const response = await app.call('/api/logout', { token: secret })
    trial.expect(response.status === 200 || isRefused(response), () => `a logout is ${shown(response)}`)
    if (response.status === 200) revoked.push(secret)
    else unknown.push(secret)
    return response.status === 200
  }
}
