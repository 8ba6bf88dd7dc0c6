import { isWorker, workerOrders } from '../adapters/node-cluster/worker.ts'
import { untraced } from '../adapters/opentelemetry/untraced.ts'
import { type LeveledLog, pinoLog } from '../adapters/pino/log.ts'
import type { ReloadableSettings } from '../application/configuration.ts'
import { type Service, startService } from '../composition/service.ts'
import type { ServiceOptions } from '../composition/service-options.ts'
import { lowerPoolPriority } from './pool-priority.ts'
import { reloadConfiguration } from './reload.ts'
import { type ServeOptions, serveByWorkers } from './serve-by-workers.ts'
import { endingSignal, listenToSignals } from './signals.ts'
import { createWelcome } from './welcome.ts'

/**
 * Runs a service until a signal stops it: SIGTERM with the drain delay, SIGINT without. SIGHUP reloads the service tokens
 * and the log level.
 */
export async function serve(composition: Omit<ServiceOptions, 'log'>): Promise<void> {
  const log = pinoLog({ level: composition.configuration.logLevel })
  const options = { ...composition, log }
  // Only requests are traced: heartbeats and jobs would be hundreds of thousands of traces a day.
  return untraced(() => {
    if (isWorker) return serveAsWorker(options)
    return options.configuration.workers > 1 ? serveByWorkers(options) : serveAlone(options)
  })
}

async function serveAlone(options: ServeOptions): Promise<void> {
  const { configuration, log } = options
  const signals = listenToSignals(log)
  await lowerPoolPriority(configuration.threadPoolSize)
  const service = await startService(options)
  signals.reloadBy(() =>
    reloadConfiguration(
      service.audit,
      log,
      async (settings) => applySettings(service, log, settings),
      options.adapters,
    ),
  )
  log.info('service.started', { address: service.address })
  process.stderr.write(await createWelcome({ ...service, configuration }))

  const name = await endingSignal(signals, service.database, () => service.stop({ delay: false }))
  log.info('service.stopping', { signal: name })
  await service.stop({ delay: name === 'SIGTERM' })
  log.info('service.stopped')
}

async function serveAsWorker(options: ServeOptions): Promise<void> {
  const orders = workerOrders()
  await lowerPoolPriority(options.configuration.threadPoolSize)
  const service = await startService(options)
  // The primary sends only these settings.
  orders.apply((settings) => applySettings(service, options.log, settings as ReloadableSettings))
  await service.stop({ delay: (await orders.end) === 'SIGTERM' })
}

function applySettings(service: Service, log: LeveledLog, settings: ReloadableSettings): void {
  service.reload(settings)
  log.setLevel(settings.logLevel)
}
