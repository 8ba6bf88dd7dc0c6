import { randomBytes } from 'node:crypto'
import { ownCommand } from '../adapters/cli/own-command.ts'
import { firstWelcome, laterWelcome } from '../adapters/cli/welcome.ts'
import { workerThreadPool } from '../adapters/config/hashing-threads.ts'
import { freeAddress } from '../adapters/http/server/listen.ts'
import { isWorker, workerOrders } from '../adapters/node-cluster/worker.ts'
import { startWorkers } from '../adapters/node-cluster/workers.ts'
import { type LeveledLog, pinoLog } from '../adapters/pino/log.ts'
import type { MetricFamily } from '../adapters/prometheus/metric-families.ts'
import { workerMetrics } from '../adapters/prometheus/worker-metrics.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import type { Configuration } from '../application/configuration.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import { createUseCases, type UseCases } from '../application/use-cases/use-cases.ts'
import { createAuditLog } from '../composition/logs.ts'
import { freeMetricsAddress, startMetricsServer } from '../composition/metrics-server.ts'
import { createPorts } from '../composition/ports.ts'
import { postgresDatabase } from '../composition/postgres-database.ts'
import {
  type ReloadableSettings,
  type Service,
  type ServiceOptions,
  startService,
} from '../composition/service.ts'
import { workerEnvironment } from '../composition/worker-environment.ts'
import { reloadConfiguration } from './reload.ts'
import { type EndingSignal, endingSignal, listenToSignals } from './signals.ts'

const DEMO_EMAIL = 'demo@example.com'
const SEPARATE_COUNTS =
  'Each worker counts failed logins separately, so together they allow more failures than the limits.'

/** The time that a worker may need in addition to its drain. */
const LEEWAY_MS = 5000

type ServeOptions = Omit<ServiceOptions, 'log'> & { readonly log: LeveledLog }

/**
 * Runs a service until a signal stops it: SIGTERM with the drain delay, SIGINT without. SIGHUP reloads the service tokens
 * and the log level.
 */
export async function serve(composition: Omit<ServiceOptions, 'log'>): Promise<void> {
  const log = pinoLog({ level: composition.configuration.logLevel })
  const options = { ...composition, log }
  if (isWorker) return serveAsWorker(options)
  return options.configuration.workers > 1 ? serveByWorkers(options) : serveAlone(options)
}

async function serveAlone(options: ServeOptions): Promise<void> {
  const { configuration, log } = options
  const signals = listenToSignals(log)
  const service = await startService(options)
  signals.reloadBy(() =>
    reloadConfiguration(service.audit, log, async (settings) => applySettings(service, log, settings)),
  )
  log.info('service.started', { address: service.url })
  process.stderr.write(await welcome(service.url, service.database, service.useCases, configuration))

  const name = await endingSignal(signals, service.database, () => service.stop({ delay: false }))
  log.info('service.stopping', { signal: name })
  await service.stop({ delay: name === 'SIGTERM' })
  log.info('service.stopped')
}

/** Runs the primary, which owns the database and its schema. Each worker serves as a separate instance. */
async function serveByWorkers(options: ServeOptions): Promise<void> {
  const { configuration, log, database: kind = postgresDatabase, adapters = {} } = options
  const signals = listenToSignals(log)
  const address = await freeAddress(configuration)
  const url = configuration.publicUrl ?? address
  await freeMetricsAddress(configuration)
  // Open the audit log before the workers start, so that a failure is reported once, not by each worker.
  const audit = createAuditLog(configuration, adapters.audit)
  const database = await kind.open('primary', { configuration, log, clock: adapters.clock ?? systemClock })
  let kill = () => {}
  try {
    const { invalidations = database.invalidations, throttle = database.throttle } = adapters
    const shared = workerEnvironment({ workerEnv: database.workerEnv, invalidations }, configuration)
    if (throttle === undefined) log.warn('workers.apart', { detail: SEPARATE_COUNTS })
    const workers = await startWorkers({
      count: configuration.workers,
      env: {
        // All workers need the same port, also when `PORT=0` selects a free one.
        PORT: new URL(address).port || '80',
        MIGRATE: 'off',
        ...workerThreadPool(configuration),
        ...shared,
      },
      abandoned: signals.end,
      onEvent: ({ kind, detail }) => log[kind === 'ended' ? 'warn' : 'info'](`worker.${kind}`, { detail }),
      // The primary asks workers for metrics only.
      together: workerMetrics() as (responses: ReadonlyMap<number, unknown>) => Promise<unknown>,
    })
    if (workers === null) {
      log.info('service.stopped', { signal: await signals.end, detail: 'It had not started.' })
      return
    }
    kill = workers.kill
    signals.beforeSecond(kill)
    log.info('service.started', { address: url, detail: `${configuration.workers} workers` })
    const ports = createPorts(database, { configuration, role: 'primary', adapters, audit, log })
    signals.reloadBy(() =>
      reloadConfiguration(audit, log, async (settings) => {
        await workers.tell(settings)
        audit.silence(settings.logLevel === 'silent')
        log.setLevel(settings.logLevel)
      }),
    )
    const useCases = createUseCases(ports, configuration)
    const collect = async () => (await workers.ask('metrics')) as readonly MetricFamily[]
    const metrics = await startMetricsServer(collect, useCases, log, configuration)
    process.stderr.write(await welcome(url, database, useCases, configuration))

    const stop = async (name: EndingSignal) => {
      const delayMs = name === 'SIGTERM' ? configuration.drainDelayMs : 0
      await workers.stop(name, delayMs + configuration.drainDeadlineMs + LEEWAY_MS)
      await metrics.close()
    }
    const name = await endingSignal(signals, database, () => stop('SIGINT'))
    log.info('service.stopping', { signal: name })
    await stop(name)
    log.info('service.stopped')
  } finally {
    // After a failure, running workers must not continue without their database.
    kill()
    await database.close()
    audit.close()
  }
}

async function serveAsWorker(options: ServeOptions): Promise<void> {
  const orders = workerOrders()
  const service = await startService(options)
  // The primary sends only these settings.
  orders.apply((settings) => applySettings(service, options.log, settings as ReloadableSettings))
  await service.stop({ delay: (await orders.end) === 'SIGTERM' })
}

function applySettings(service: Service, log: LeveledLog, settings: ReloadableSettings): void {
  service.reload(settings)
  log.setLevel(settings.logLevel)
}

async function welcome(
  url: string,
  { dataDir = null, fresh = false, notes = [] }: OpenDatabase,
  { customers, deadline }: UseCases,
  { production }: Configuration,
): Promise<string> {
  const command = ownCommand()
  const noted = notes.map((note) => `latchkey: ${note}\n`).join('')
  if (dataDir === null || !fresh || production) return noted + laterWelcome({ url, dataDir, command })
  const demo = { email: DEMO_EMAIL, password: randomBytes(12).toString('base64url') }
  try {
    await customers.add({ email: demo.email, name: 'Demo', password: demo }, deadline())
    return noted + firstWelcome({ url, dataDir, demo, command })
  } catch {
    // The service is running: a slow machine that cannot create the demo customer in time must not stop it.
    return noted + laterWelcome({ url, dataDir, command })
  }
}
