import { workerThreadPool } from '../adapters/config/hashing-threads.ts'
import { checkAddress } from '../adapters/http/server/listen.ts'
import { startWorkers, type Workers } from '../adapters/node-cluster/workers.ts'
import { createEvents, markedLog, type OpsEvents } from '../adapters/ops/events.ts'
import type { RunningAuditLog } from '../adapters/pino/audit-log.ts'
import type { LeveledLog } from '../adapters/pino/log.ts'
import { primaryMetrics } from '../adapters/prometheus/primary-metrics.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import type { MetricFamily } from '../application/ports/metrics.ts'
import { createUseCases } from '../application/use-cases/use-cases.ts'
import { combineRecords } from '../composition/all-workers.ts'
import { Lifecycle } from '../composition/lifecycle.ts'
import { createAuditLog } from '../composition/logs.ts'
import { checkMetricsAddress, startMetricsServer } from '../composition/metrics-server.ts'
import { createPorts } from '../composition/ports.ts'
import { postgresDatabase } from '../composition/postgres-database.ts'
import { startOnce } from '../composition/service-hooks.ts'
import type { ServiceOptions } from '../composition/service-options.ts'
import { workerEnvironment } from '../composition/worker-environment.ts'
import { reloadConfiguration } from './reload.ts'
import { type EndingSignal, endingSignal, listenToSignals, type Signals } from './signals.ts'
import { createWelcome } from './welcome.ts'

const SEPARATE_COUNTS =
  'Each worker counts failed logins separately, so together they allow more failures than the limits.'

/** The time that a worker may need in addition to its drain. */
const LEEWAY_MS = 5000

/** What the primary started. */
interface RunningParts {
  readonly url: string
  readonly address: string
  readonly database: OpenDatabase
  readonly audit: RunningAuditLog
  readonly workers: Workers
  readonly signals: Signals
  readonly lifecycle: Lifecycle
}

/** The options of `serve`: a service whose log can change its level. */
export type ServeOptions = Omit<ServiceOptions, 'log'> & { readonly log: LeveledLog }

/** Runs the primary, which owns the database and its schema. Each worker serves as a separate instance. */
export async function serveByWorkers(options: ServeOptions): Promise<void> {
  const { configuration, log, database: kind = postgresDatabase(), adapters = {} } = options
  const signals = listenToSignals(log)
  const address = await checkAddress(configuration)
  await checkMetricsAddress(configuration)
  const lifecycle = new Lifecycle()
  try {
    // Open the audit log before the workers start, so that a failure is reported once, not by each worker.
    const audit = createAuditLog(configuration, adapters.audit)
    lifecycle.onStop(audit.close)
    const { clock = systemClock } = adapters
    const events = createEvents()
    const marked = { ...options, log: markedLog(log, events, () => clock.nowMs()) }
    const database = await kind.open('primary', { configuration, log: marked.log, clock })
    lifecycle.onStop(() => database.close())
    await startOnce(options, database, lifecycle)
    const workers = await startServingWorkers(marked, { database, events, address, abandoned: signals.end })
    if (workers === null) {
      log.info('service.stopped', { signal: await signals.end, detail: 'It had not started.' })
      return lifecycle.stop({ delay: false })
    }
    // After a failure, running workers must not continue without their database.
    lifecycle.onStop(workers.kill)
    signals.beforeSecond(workers.kill)
    const url = configuration.publicUrl ?? address
    log.info('service.started', { address, detail: `${configuration.workers} workers` })
    await runPrimary(options, { url, address, database, audit, workers, signals, lifecycle })
  } catch (error) {
    // The first error is the cause.
    await lifecycle.stop({ delay: false }).catch(() => {})
    throw error
  }
  await lifecycle.stop({ delay: false })
}

/** Starts the workers on the address. Resolves with null when `abandoned` resolved first. */
function startServingWorkers(
  { configuration, log, adapters = {} }: ServiceOptions,
  started: {
    readonly database: OpenDatabase
    /** The events that the primary marks. */
    readonly events: OpsEvents
    readonly address: string
    readonly abandoned: Promise<unknown>
  },
): Promise<Workers | null> {
  const { database, events, address, abandoned } = started
  const metrics = primaryMetrics(performance.timeOrigin)
  const { invalidations = database.invalidations, throttle = database.throttle } = adapters
  const shared = workerEnvironment({ workerEnv: database.workerEnv, invalidations }, configuration)
  if (throttle === undefined) log.warn('workers.apart', { detail: SEPARATE_COUNTS })
  return startWorkers({
    count: configuration.workers,
    env: {
      // All workers need the same port, also when `PORT=0` selects a free one.
      PORT: new URL(address).port || '80',
      MIGRATE: 'off',
      ...workerThreadPool(configuration),
      ...shared,
    },
    abandoned,
    onEvent({ kind, detail }) {
      if (kind === 'ended') metrics.workerEnded()
      log[kind === 'started' ? 'info' : 'warn'](`worker.${kind}`, { detail })
    },
    combine: combineRecords({ collect: metrics.collect, events: events.list }),
  })
}

/** Serves the metrics of all workers, reloads settings and prints the welcome. Stops the workers after a signal. */
async function runPrimary(
  { configuration, log, adapters = {} }: ServeOptions,
  { url, address, database, audit, workers, signals, lifecycle }: RunningParts,
): Promise<void> {
  const ports = createPorts(database, { configuration, role: 'primary', adapters, audit, log })
  signals.reloadBy(() =>
    reloadConfiguration(
      audit,
      log,
      async (settings) => {
        database.reload?.(settings)
        await workers.send(settings)
        audit.silence(settings.logLevel === 'silent')
        log.setLevel(settings.logLevel)
      },
      adapters,
    ),
  )
  const useCases = createUseCases(ports, configuration)
  const collect = async () => (await workers.ask('metrics')) as readonly MetricFamily[]
  const metrics = await startMetricsServer(collect, useCases, log, configuration)
  lifecycle.onStop(metrics.close)
  process.stderr.write(await createWelcome({ url, address, database, useCases, configuration }))

  const stop = async (name: EndingSignal) => {
    const delayMs = name === 'SIGTERM' ? configuration.drainDelayMs : 0
    await workers.stop(name, delayMs + configuration.drainDeadlineMs + LEEWAY_MS)
  }
  const name = await endingSignal(signals, database, () => stop('SIGINT'))
  log.info('service.stopping', { signal: name })
  await stop(name)
  log.info('service.stopped')
}
