import { randomBytes } from 'node:crypto'
import { firstWelcome, laterWelcome } from './adapters/cli/welcome.ts'
import { pinoLog } from './adapters/pino/log.ts'
import type { Log } from './application/ports.ts'
import { type Service, type ServiceOptions, startService } from './service.ts'

const DEMO_EMAIL = 'demo@example.com'

/** Runs a service until a signal ends it: SIGTERM with the drain's delay, SIGINT and SIGHUP without. */
export async function serve(composition: Omit<ServiceOptions, 'log'>): Promise<void> {
  const signal = firstSignal()
  const log = pinoLog({ level: composition.configuration.logLevel })
  const options = { ...composition, log }
  const service = await startService(options)
  log.info('service.started', { address: service.url })
  process.stderr.write(await welcome(service, options))

  const name = await signal
  log.info('service.stopping', { signal: name })
  endAtSecondSignal(log)
  await service.stop({ delay: name === 'SIGTERM' })
  log.info('service.stopped')
}

async function welcome(
  { url, database, latchkey }: Service,
  { configuration }: ServiceOptions,
): Promise<string> {
  const { dataDir, fresh, notes } = database
  const noted = notes.map((note) => `latchkey: ${note}\n`).join('')
  if (dataDir === null || !fresh || configuration.production) return noted + laterWelcome({ url, dataDir })
  const demo = { email: DEMO_EMAIL, password: randomBytes(12).toString('base64url') }
  await latchkey.customers.add({ email: demo.email, name: 'Demo', password: demo }, latchkey.patience())
  return noted + firstWelcome({ url, dataDir, demo })
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

function firstSignal(): Promise<(typeof SIGNALS)[number]> {
  return new Promise((resolve) => {
    for (const name of SIGNALS) process.once(name, () => resolve(name))
  })
}

function endAtSecondSignal(log: Log): void {
  for (const name of SIGNALS) {
    process.on(name, () => {
      log.warn('service.ended_at_once', { signal: name })
      process.exit(1)
    })
  }
}
