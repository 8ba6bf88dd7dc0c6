import { readFileSync } from 'node:fs'
import type { Operations } from './adapters/cli/operations.ts'
import { runCli } from './adapters/cli/run-cli.ts'
import { readProcessConfiguration } from './adapters/config/process-configuration.ts'
import { isWorker } from './adapters/node-cluster/workers.ts'
import { newServiceSecret } from './adapters/node-crypto/service-secrets.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}

// Each loads what it needs when it runs: `--help` and a refused setting wait for no database driver.
const operations: Operations = {
  version,
  async serve() {
    const configuration = configured()
    const { serve } = await import('./serve.ts')
    await serve({ configuration, version })
  },
  async migrate() {
    const configuration = configured()
    return (await import('./commands.ts')).applyMigrations(configuration)
  },
  async pendingMigrations() {
    const configuration = configured()
    return (await import('./commands.ts')).listPendingMigrations(configuration)
  },
  async withStore(use) {
    const configuration = configured()
    return (await import('./commands.ts')).withStore(configuration, use)
  },
  newServiceToken: newServiceSecret,
}

process.exitCode = await runCli(process.argv.slice(2), operations)

function configured(): ReturnType<typeof readProcessConfiguration>['configuration'] {
  const { configuration, warnings } = readProcessConfiguration()
  // The primary has said it already.
  for (const warning of isWorker ? [] : warnings) process.stderr.write(`latchkey: ${warning}\n`)
  return configuration
}
