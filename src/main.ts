import { readFileSync } from 'node:fs'
import type { Operations } from './adapters/cli/operations.ts'
import { runCli } from './adapters/cli/run-cli.ts'
import type { Configuration } from './adapters/config/configuration.ts'
import { readProcessConfiguration } from './adapters/config/process-configuration.ts'
import { newServiceSecret } from './adapters/node-crypto/service-secrets.ts'
import { pinoLog } from './adapters/pino/log.ts'
import { migrate, pendingMigrations } from './adapters/postgres/migrations.ts'
import { systemClock } from './adapters/system-clock/clock.ts'
import { latchkey } from './application/latchkey.ts'
import { patienceOf } from './application/patience.ts'
import type { Log } from './application/ports.ts'
import { openDatabase, withServer } from './database.ts'
import { serve } from './serve.ts'
import { postgresPorts } from './service.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** An operator waits longer than a request may. */
const COMMAND_WAIT_MS = 10_000

const operations: Operations = {
  version,
  async serve() {
    const { configuration, log } = configured({ logs: true })
    await serve({ configuration, log, version })
  },
  async migrate() {
    const { configuration, log } = configured({ logs: false })
    return withServer(configuration, log, (url) => migrate({ url }))
  },
  async pendingMigrations() {
    const { configuration, log } = configured({ logs: false })
    return withServer(configuration, log, (url) => pendingMigrations({ url }))
  },
  async withStore(use) {
    const { configuration, log } = configured({ logs: false })
    const database = await openDatabase(configuration, 'command', log)
    try {
      const ports = postgresPorts(configuration, database.pool)
      const patience = () => patienceOf(COMMAND_WAIT_MS, systemClock)
      return await use({
        customers: latchkey(ports, configuration).customers,
        listCustomers: (afterEmail, limit) =>
          patience().wait((waitMs) => ports.customers.list({ afterEmail, limit }, waitMs)),
        tokensOf: (customerId) => patience().wait((waitMs) => ports.loginTokens.listOf(customerId, waitMs)),
        patience,
        nowMs: systemClock.nowMs,
      })
    } finally {
      await database.close()
    }
  },
  newServiceToken: newServiceSecret,
}

process.exitCode = await runCli(process.argv.slice(2), operations)

/** A command's standard output is its answer: only the service logs there. */
function configured({ logs }: { readonly logs: boolean }): { configuration: Configuration; log: Log } {
  const { configuration, warnings } = readProcessConfiguration()
  for (const warning of warnings) process.stderr.write(`latchkey: ${warning}\n`)
  return { configuration, log: pinoLog({ level: logs ? configuration.logLevel : 'silent' }) }
}
