import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { ALERTS, type AlertName } from '../../src/adapters/ops/alerts.ts'
import { callAt } from '../../src/testing/call.ts'
import { type PlainServer, withPlainServers } from '../../verification/plain-servers.ts'
import { fastRules } from '../support/alert-rules.ts'
import { selfSignedFor, withoutOpenssl } from '../support/certificate.ts'
import {
  startBlackboxExporter,
  startPostgresExporter,
  withoutBlackboxExporter,
  withoutPostgresExporter,
} from '../support/exporters.ts'
import { ownProgram } from '../support/own-program.ts'
import { EMAIL, PASSWORD, programSuite } from '../support/program-suite.ts'
import {
  type PrometheusServer,
  type ScrapeJob,
  startPrometheus,
  withoutPrometheus,
} from '../support/prometheus-server.ts'
import { openRawClient } from '../support/raw-client.ts'
import {
  type RunningProcess,
  runLatchkey,
  startProcess,
  temporaryFolder,
  UNTHROTTLED,
} from '../support/running-process.ts'
import { openSmallDisk } from '../support/small-disk.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { openTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { listWorkers } from '../support/worker-processes.ts'

const skip =
  (process.env.TEST_LONG !== '1' && 'FAULTS OF THE ALERTS WERE NOT INJECTED: TEST_LONG=1 injects them') ||
  withoutPrometheus ||
  postgresAlone
const SECRET = 'service-secret-of-the-alerts-0123456789'
/** A standby must be 30 seconds behind. */
const FIRES_MS = 180_000
const RUNBOOK = readFileSync(join(import.meta.dirname, '../../docs/operations/alerts.md'), 'utf8')

/** What one test runs, and the folder of its files. */
interface Scene {
  readonly folder: string
  /** Registers what is undone after the test, the last first. */
  after(undo: () => unknown): void
}

/** A service whose database is behind a proxy, and the Prometheus that reads its metrics. */
interface Watched {
  service: RunningProcess
  url: string
  readonly env: Readonly<Record<string, string>>
  readonly proxy: TcpProxy
  readonly prometheus: PrometheusServer
}

/** What the runbook entry of an alert says to look at, in its words, and whether the cause shows there. */
interface Look {
  readonly at: string
  readonly shows: (watched: Watched) => boolean | Promise<boolean>
}

/** What a fault adds to the service and to Prometheus. A text is the reason for which it cannot be injected here. */
interface Surroundings {
  readonly env?: Readonly<Record<string, string>>
  readonly jobs?: readonly ScrapeJob[]
  /** Starts the service in another way. */
  readonly start?: (env: Readonly<Record<string, string>>) => RunningProcess
}

interface Fault {
  readonly title: string
  readonly fires: Readonly<Partial<Record<AlertName, Look>>>
  readonly surroundings?: (scene: Scene) => Promise<Surroundings | string>
  /** Causes the fault once. */
  readonly inject?: (watched: Watched, scene: Scene) => unknown
  /** Each is called again and again until the alerts have fired. A failure is expected. */
  readonly loads?: readonly ((watched: Watched) => Promise<unknown>)[]
}

const suite = programSuite()
const login = (url: string, password = PASSWORD, email = EMAIL) =>
  callAt(url, '/api/login', { body: { email, password } })

const inLog =
  (pattern: RegExp): Look['shows'] =>
  ({ service }) =>
    service
      .stdout()
      .split('\n')
      .some((line) => pattern.test(line))

const inQuery =
  (expr: string): Look['shows'] =>
  async ({ prometheus }) =>
    (await prometheus.query(expr)).length > 0

const byCommand =
  (args: readonly string[], pattern: RegExp): Look['shows'] =>
  async ({ env }) => {
    const { stdout, stderr } = await runLatchkey(args, { cwd: suite.folder(), env })
    return pattern.test(stdout + stderr)
  }

const bySql =
  (text: string): Look['shows'] =>
  async () =>
    (await suite.database().sql(text)).length > 0

const FAULTS: readonly Fault[] = [
  {
    title: 'an unreachable database',
    fires: {
      LatchkeyDatabaseUnreachable: {
        at: '`latchkey doctor` prints the reason',
        shows: byCommand(['doctor'], /Connection terminated|ECONNRESET|ended the connection/i),
      },
      LatchkeyNotReady: {
        at: 'Call `/readyz` with a service token: `checks` names the reason',
        async shows({ url }) {
          const { body } = await callAt(url, '/readyz', { method: 'GET', token: SECRET })
          return body.checks.database === 'unreachable'
        },
      },
      LatchkeyCacheSuspended: {
        at: '`cache.suspended` in the log has the reason',
        shows: inLog(/"detail":"[^"]+.*"event":"cache\.suspended"/),
      },
      LatchkeyErrorBudgetBurnsFast: {
        at: '`request.failed` in the log has the cause of each',
        shows: inLog(/Connection terminated.*"event":"request\.failed"/),
      },
      LatchkeyErrorBudgetBurnsSlowly: {
        at: '`request.failed` in the log, by `route` and `message`',
        shows: inLog(/"event":"request\.failed"/),
      },
    },
    inject: ({ proxy }) => proxy.refuse(),
    loads: [({ url }) => login(url)],
  },
  {
    title: 'a disabled trigger',
    fires: {
      LatchkeySchemaBroken: {
        at: '`latchkey doctor` names it',
        shows: byCommand(['doctor'], /trigger publish_update/),
      },
    },
    inject(_, { after }) {
      after(() => suite.database().sql('alter table login_tokens enable always trigger publish_update'))
      return suite.database().sql('alter table login_tokens disable trigger publish_update')
    },
  },
  {
    title: 'a missing migration',
    fires: {
      LatchkeyMigrationPending: {
        at: '`latchkey migrate --check` lists what is pending',
        shows: byCommand(['migrate', '--check'], /\d{4}_\w+/),
      },
    },
    async inject(_, { after }) {
      const last = 'id = (select max(id) from latchkey_migrations)'
      after(() =>
        suite
          .database()
          .sql(`update latchkey_migrations set name = replace(name, 'missing ', '') where ${last}`),
      )
      await suite.database().sql(`update latchkey_migrations set name = 'missing ' || name where ${last}`)
    },
  },
  {
    title: 'a database that became read-only',
    fires: {
      LatchkeyDatabaseReadOnly: {
        at: '`database.read_only`',
        shows: inLog(/"event":"database\.read_only"/),
      },
    },
    async inject(_, { after }) {
      const name = new URL(suite.database().url).pathname.slice(1)
      const setting = 'default_transaction_read_only'
      after(() => suite.database().sql(`begin read write; alter database ${name} reset ${setting}; commit`))
      await suite.database().sql(`alter database ${name} set ${setting} = on`)
      // The setting applies to later connections.
      await suite
        .database()
        .sql(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
          [name],
        )
    },
    loads: [({ url }) => login(url)],
  },
  {
    title: 'a program that locks a table again and again',
    fires: {
      LatchkeyPoolExhausted: {
        at: 'Slow or blocked statements in `pg_stat_activity`',
        shows: bySql(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        ),
      },
      LatchkeyLatencyBudgetBurnsFast: {
        at: '`db_client_connection_pending_requests`',
        shows: inQuery('max_over_time(db_client_connection_pending_requests[1m]) > 0'),
      },
      LatchkeyLatencyBudgetBurnsSlowly: {
        at: 'As for LatchkeyLatencyBudgetBurnsFast',
        shows: inQuery('max_over_time(db_client_connection_pending_requests[1m]) > 0'),
      },
    },
    surroundings: async () => ({ env: { DATABASE_POOL_MAX: '3', TOKEN_CACHE_TTL: '0s' } }),
    loads: [
      () =>
        suite
          .database()
          .sql('begin; lock table customers in access exclusive mode; select pg_sleep(0.35); commit'),
      ...Array.from(
        { length: 5 },
        () =>
          ({ url }: Watched) =>
            login(url),
      ),
      async ({ url }) => {
        const { body } = await login(url)
        await callAt(url, '/api/me', { token: body.token })
      },
    ],
  },
  {
    title: 'a slow network to the database',
    fires: {
      LatchkeySlowRevocations: {
        at: '`latchkey doctor` prints',
        shows: byCommand(
          ['doctor'],
          /received on the listener connection after (2[5-9]\d|[3-9]\d\d|\d{4}) ms/,
        ),
      },
    },
    // Every reply of the server.
    inject: ({ proxy }) => proxy.holdRepliesTo('', 280),
  },
  {
    title: 'more logins than the processors verify',
    fires: {
      LatchkeyHashingQueue: {
        at: '`latchkey doctor` prints the logins a second',
        shows: byCommand(['doctor'], /allows \d+(\.\d+)? logins a second/),
      },
      LatchkeyLoginsUnavailable: {
        at: '`latchkey_hashing_waiting`',
        shows: inQuery('max_over_time(latchkey_hashing_waiting[1m]) > 0'),
      },
    },
    surroundings: async () => ({ env: { BCRYPT_COST: '13' } }),
    loads: Array.from(
      { length: 16 },
      () =>
        ({ url }: Watched) =>
          login(url, PASSWORD, 'unknown@example.com'),
    ),
  },
  {
    title: 'guesses',
    fires: {
      LatchkeyGuessing: {
        at: 'The addresses and customers of `login.failed`',
        shows: inLog(/(?=.*"event":"login\.failed")(?=.*"address":"127\.0\.0\.1")/),
      },
    },
    loads: Array.from(
      { length: 8 },
      () =>
        ({ url }: Watched) =>
          login(url, 'wrong'),
    ),
  },
  {
    title: 'a handler that computes',
    fires: {
      LatchkeyEventLoopDelayed: {
        at: '`process_cpu_seconds_total`',
        shows: inQuery('rate(process_cpu_seconds_total{job="latchkey"}[10s]) > 0.3'),
      },
    },
    async surroundings({ after }) {
      const program = await ownProgram(
        'computing.ts',
        `import { route, runProgram } from 'latchkey'

const compute = route('GET /compute', {
  auth: 'none',
  handle() {
    const endMs = performance.now() + 300
    while (performance.now() < endMs);
    return {}
  },
})
await runProgram({ version: '1.0.0', routes: () => [compute] })
`,
      )
      after(() => program.remove())
      return {
        start: (env) =>
          startProcess(process.execPath, ['--import', 'tsx', 'computing.ts'], { cwd: program.path, env }),
      }
    },
    loads: [({ url }) => callAt(url, '/api/compute', { method: 'GET' })],
  },
  {
    title: 'an audit log that cannot be written',
    fires: {
      LatchkeyAuditNotWritten: {
        at: '`request.failed` in the log with the code of the system, such as `ENOSPC`',
        shows: inLog(/ENOSPC.*"event":"request\.failed"/),
      },
    },
    surroundings: async () => ({ env: { AUDIT_LOG: '/dev/full' } }),
    loads: [({ url }) => login(url)],
  },
  {
    title: 'a disk that fills',
    fires: {
      LatchkeyDiskFilling: {
        at: 'The label `folder`: `AUDIT_LOG`',
        shows: inQuery('ALERTS{alertname="LatchkeyDiskFilling",alertstate="firing",folder="AUDIT_LOG"}'),
      },
    },
    async surroundings({ folder, after }) {
      const disk = openSmallDisk(folder, 20)
      if (typeof disk === 'string') return disk
      after(() => disk.close())
      return { env: { AUDIT_LOG: join(disk.path, 'audit.jsonl') } }
    },
    inject: (_, { folder }) => writeFileSync(join(folder, 'disk', 'other'), Buffer.alloc(18 * 1024 * 1024)),
  },
  {
    title: 'connections up to the limit',
    fires: {
      LatchkeyConnectionsNearLimit: {
        at: '`latchkey_connections_dropped_total`',
        shows: inQuery('sum(latchkey_connections_dropped_total) > 0'),
      },
    },
    surroundings: async () => ({ env: { MAX_CONNECTIONS: '10' } }),
    loads: [({ url }) => openRawClient(Number(new URL(url).port))],
  },
  {
    title: 'workers that are killed',
    fires: {
      LatchkeyWorkersRestart: {
        at: '`worker.ended` and `worker.hung` in the log',
        shows: inLog(/SIGKILL.*"event":"worker\.ended"/),
      },
    },
    surroundings: async () => ({ env: { WORKERS: '2' } }),
    loads: [
      async ({ service }) => {
        const [worker] = listWorkers(service.child.pid ?? 0)
        if (worker !== undefined) process.kill(worker, 'SIGKILL')
        await sleep(1000)
      },
    ],
  },
  {
    title: 'an instance that restarts again and again',
    fires: {
      LatchkeyRestarts: {
        at: 'the exit code in `systemctl status latchkey`',
        shows: async ({ service }) => (await service.ended).signal === 'SIGKILL',
      },
    },
    surroundings: async () => ({ env: { METRICS_PORT: String(await freePort()) } }),
    loads: [
      async (watched) => {
        await sleep(2000)
        await restart(watched)
      },
    ],
  },
  {
    title: 'a killed instance',
    fires: {
      LatchkeyDown: {
        at: 'Is the process running (`systemctl status latchkey`)?',
        shows: async ({ service }) => (await service.ended).signal === 'SIGKILL',
      },
    },
    inject: ({ service }) => service.child.kill('SIGKILL'),
  },
  standbyThatDoesNotReplay(),
  certificateThatWasNotRenewed(),
]

test('A fault is known for each alert, and its runbook entry names where the cause shows', () => {
  const injected = FAULTS.flatMap(({ fires }) => Object.entries(fires))
  assert.deepEqual(injected.map(([name]) => name).sort(), Object.keys(ALERTS).sort())
  for (const [name, { at }] of injected) {
    const [, entry = ''] = new RegExp(`^## ${name}\n([^]*?)(?=^## |(?![^]))`, 'm').exec(RUNBOOK) ?? []
    assert.ok(entry.includes(at), `${name}: ${at}`)
  }
})

describe('On a real Prometheus', { skip }, () => {
  for (const fault of FAULTS) {
    const names = Object.keys(fault.fires).sort()
    test(`${fault.title} fires ${names.join(', ')}`, async (t) => {
      const scene = await openScene(t)
      const watched = await watch(scene, fault)
      if (typeof watched === 'string') return t.skip(`NOT INJECTED: ${watched}`)
      const { prometheus } = watched
      await fault.inject?.(watched, scene)
      let isDone = false
      const loads = (fault.loads ?? []).map(async (load) => {
        for (; !isDone; await sleep(10)) await load(watched).catch(() => {})
      })
      const missing = async () => {
        const fired = await prometheus.fired()
        return names.filter((name) => !fired.includes(name))
      }
      const beganMs = performance.now()
      try {
        await until(async () => {
          await sleep(200)
          return (await missing()).length === 0
        }, FIRES_MS).catch(async () => assert.deepEqual(await missing(), []))
        t.diagnostic(`${names.join(', ')} fired after ${Math.round((performance.now() - beganMs) / 1000)} s`)
        for (const [name, { at, shows }] of Object.entries(fault.fires))
          await until(() => shows(watched)).catch(() => assert.fail(`${name}: no cause at ${at}`))
      } finally {
        isDone = true
        await Promise.all(loads)
      }
    })
  }
})

/** Returns a scene that is undone in reverse order, even where a step fails. */
async function openScene(t: { after(undo: () => unknown): void }): Promise<Scene> {
  const undos: (() => unknown)[] = []
  t.after(async () => {
    for (const undo of undos.reverse()) await undo()
  })
  const folder = await temporaryFolder()
  undos.push(() => folder.remove())
  return { folder: folder.path, after: (undo) => undos.push(undo) }
}

/** Starts a service behind a proxy of its database, and a Prometheus that reads its metrics. */
async function watch(scene: Scene, { surroundings }: Fault): Promise<Watched | string> {
  const added = (await surroundings?.(scene)) ?? {}
  if (typeof added === 'string') return added
  const proxy = await openTcpProxy(suite.database().url)
  scene.after(() => proxy.close())
  const env = {
    ...{ PORT: '0', METRICS_PORT: '0', DATABASE_URL: proxy.url, BCRYPT_COST: '4', ...UNTHROTTLED },
    SERVICE_TOKENS: `tests=${SECRET}`,
    ...added.env,
  }
  const service = added.start?.(env) ?? suite.launch(env)
  scene.after(async () => {
    service.child.kill('SIGKILL')
    await service.ended
  })
  const [, url = ''] = await service.until(/running at (\S+)/)
  const [, target = ''] = await service.until(/"address":"http:\/\/([^"]+)","event":"metrics.started"/)
  const rules = join(scene.folder, 'rules.yaml')
  writeFileSync(rules, fastRules())
  const jobs = [{ job: 'latchkey', target }, ...(added.jobs ?? [])]
  const prometheus = await startPrometheus(scene.folder, rules, jobs)
  scene.after(prometheus.stop)
  await until(async () => (await prometheus.query('up == 1')).length === jobs.length)
  return { service, url, env, proxy, prometheus }
}

/** Kills the instance and starts it again with the same settings. */
async function restart(watched: Watched): Promise<void> {
  watched.service.child.kill('SIGKILL')
  await watched.service.ended
  const service = suite.launch(watched.env)
  const [, url = ''] = await service.until(/running at (\S+)/)
  Object.assign(watched, { service, url })
}

function standbyThatDoesNotReplay(): Fault {
  let primary: PlainServer | null = null
  return {
    title: 'a standby that does not replay',
    fires: {
      LatchkeyStandbyLags: {
        at: '`pg_stat_replication` on the primary',
        async shows() {
          const behind = 'select from pg_stat_replication where replay_lsn < sent_lsn'
          return ((await primary?.database.sql(behind)) ?? []).length > 0
        },
      },
    },
    async surroundings({ folder, after }) {
      if (withoutPostgresExporter) return withoutPostgresExporter
      const servers = join(folder, 'servers')
      mkdirSync(servers)
      let end = () => {}
      const over = new Promise<void>((resolve) => {
        end = resolve
      })
      const standby = await new Promise<PlainServer>((resolve, reject) => {
        const all = withPlainServers({ folder: servers, sharedFolder: servers }, async (launch) => {
          const own = await launch()
          primary = own
          resolve(await launch({ settings: { primary_conninfo: own.database.url }, isStandby: true }))
          await over
        })
        all.catch(reject)
        after(() => {
          end()
          return all
        })
      })
      const sql = (text: string) => primary?.database.sql(text)
      await sql('create table replayed ()')
      await until(() =>
        standby.database.sql('select from replayed').then(
          () => true,
          () => false,
        ),
      )
      await standby.database.sql('select pg_wal_replay_pause()')
      await sql('create table delayed ()')
      const exporter = await startPostgresExporter(folder, standby.database.url)
      after(exporter.stop)
      return { jobs: [{ job: 'postgres', target: exporter.target }] }
    },
  }
}

function certificateThatWasNotRenewed(): Fault {
  return {
    title: 'a certificate that was not renewed',
    fires: {
      LatchkeyCertificateExpires: {
        at: 'The renewal job of the proxy and its log',
        shows: inQuery('(probe_ssl_earliest_cert_expiry - time()) / 86400 < 3'),
      },
    },
    async surroundings({ folder, after }) {
      const missing = withoutOpenssl || withoutBlackboxExporter
      if (missing) return missing
      // Valid for two days.
      const proxy = createServer(selfSignedFor(folder), (_, response) => response.end()).listen(
        0,
        '127.0.0.1',
      )
      await once(proxy, 'listening')
      after(() => {
        proxy.close()
        proxy.closeAllConnections()
      })
      const exporter = await startBlackboxExporter(folder)
      after(exporter.stop)
      const { port } = proxy.address() as AddressInfo
      const params = { module: ['https'], target: [`https://127.0.0.1:${port}/`] }
      return { jobs: [{ job: 'latchkey-https', target: exporter.target, path: '/probe', params }] }
    },
  }
}
