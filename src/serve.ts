import { randomBytes } from 'node:crypto'
import { firstWelcome, laterWelcome } from './adapters/cli/welcome.ts'
import type { Configuration } from './adapters/config/configuration.ts'
import { freeAddress } from './adapters/http/server.ts'
import { endOfWorker, isWorker, startWorkers } from './adapters/node-cluster/workers.ts'
import { pinoLog } from './adapters/pino/log.ts'
import { waitedInvalidations } from './adapters/postgres/invalidations.ts'
import { type Latchkey, latchkey } from './application/latchkey.ts'
import type { Log } from './application/ports.ts'
import { type Database, openDatabase } from './database.ts'
import { postgresPorts, type ServiceOptions, startService } from './service.ts'

const DEMO_EMAIL = 'demo@example.com'

/** Runs a service until a signal ends it: SIGTERM with the drain's delay, SIGINT and SIGHUP without. */
export async function serve(composition: Omit<ServiceOptions, 'log'>): Promise<void> {
  const log = pinoLog({ level: composition.configuration.logLevel })
  const options = { ...composition, log }
  if (isWorker) return serveAsWorker(options)
  return options.configuration.workers > 1 ? serveByWorkers(options) : serveAlone(options)
}

async function serveAlone(options: ServiceOptions): Promise<void> {
  const { configuration, log } = options
  const signal = firstSignal()
  const service = await startService(options)
  log.info('service.started', { address: service.url })
  process.stderr.write(await welcome(service.url, service.database, service.latchkey, configuration))

  const name = await signal
  log.info('service.stopping', { signal: name })
  endAtSecondSignal(log)
  await service.stop({ delay: name === 'SIGTERM' })
  log.info('service.stopped')
}

/** The primary: it owns the database and its schema; its workers serve, each an instance like any other. */
async function serveByWorkers({ configuration, log }: ServiceOptions): Promise<void> {
  const signal = firstSignal()
  const address = await freeAddress(configuration)
  const url = configuration.publicUrl ?? address
  const database = await openDatabase(configuration, 'service', log)
  try {
    const workers = await startWorkers({
      count: configuration.workers,
      env: {
        // One address for all of them, also where any free port would do.
        PORT: new URL(address).port,
        MIGRATE: 'off',
        ...(configuration.databaseUrl === null ? { DATABASE_URL: database.url } : {}),
      },
      onEvent: ({ kind, detail }) => log[kind === 'ended' ? 'warn' : 'info'](`worker.${kind}`, { detail }),
    })
    log.info('service.started', { address: url, detail: `${configuration.workers} workers` })
    const ports = postgresPorts(configuration, database.pool, waitedInvalidations())
    process.stderr.write(await welcome(url, database, latchkey(ports, configuration), configuration))

    const name = await signal
    log.info('service.stopping', { signal: name })
    endAtSecondSignal(log, workers.kill)
    await workers.stop(name)
    log.info('service.stopped')
  } finally {
    await database.close()
  }
}

async function serveAsWorker(options: ServiceOptions): Promise<void> {
  const reason = endOfWorker()
  const service = await startService(options)
  await service.stop({ delay: (await reason) === 'SIGTERM' })
  process.disconnect?.()
}

async function welcome(
  url: string,
  { dataDir, fresh, notes }: Database,
  { customers, patience }: Latchkey,
  { production }: Configuration,
): Promise<string> {
  const noted = notes.map((note) => `latchkey: ${note}\n`).join('')
  if (dataDir === null || !fresh || production) return noted + laterWelcome({ url, dataDir })
  const demo = { email: DEMO_EMAIL, password: randomBytes(12).toString('base64url') }
  await customers.add({ email: demo.email, name: 'Demo', password: demo }, patience())
  return noted + firstWelcome({ url, dataDir, demo })
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

function firstSignal(): Promise<(typeof SIGNALS)[number]> {
  return new Promise((resolve) => {
    for (const name of SIGNALS) process.once(name, () => resolve(name))
  })
}

function endAtSecondSignal(log: Log, killWorkers = () => {}): void {
  for (const name of SIGNALS) {
    process.on(name, () => {
      log.warn('service.ended_at_once', { signal: name })
      killWorkers()
      process.exit(1)
    })
  }
}
