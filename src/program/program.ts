import type { Operations } from '../adapters/cli/operations.ts'
import { runCli } from '../adapters/cli/run-cli.ts'
import { readProcessConfiguration } from '../adapters/config/process-configuration.ts'
import type { ObjectSchema } from '../adapters/http/routing/declared-route.ts'
import { isWorker, leaveWorkers } from '../adapters/node-cluster/worker.ts'
import { newServiceSecret } from '../adapters/node-crypto/service-secrets.ts'
import type { Configuration } from '../application/configuration.ts'
import type { Database } from '../application/ports/database.ts'
import type { AdapterOverrides } from '../composition/ports.ts'
import type { RoutesOptions } from '../composition/route-table.ts'
import { surviveClosedTerminals } from './terminals.ts'

/** What a program is composed of; its settings come from the environment. */
export interface Composition<Me extends ObjectSchema = ObjectSchema>
  extends Omit<RoutesOptions<Me>, 'configuration'> {
  /** Where customers and tokens are stored; in PostgreSQL where it is not given. */
  readonly database?: Database
  readonly adapters?: AdapterOverrides
}

/**
 * Runs the command that `argv`, the words behind the program's name, asks for, without any the service; the process ends
 * with its exit code. One call for this program and for an implementer's: every command knows its routes and its database.
 */
export async function runProgram<Me extends ObjectSchema>(
  composition: Composition<Me>,
  argv: readonly string[] = process.argv.slice(2),
): Promise<void> {
  surviveClosedTerminals()
  // Each loads what it needs when it runs: `--help` and a refused setting wait for no database driver.
  const operations: Operations = {
    version: composition.version,
    async serve() {
      const configuration = configured()
      const { serve } = await import('./serve.ts')
      await serve({ ...composition, configuration })
    },
    async migrate() {
      const configuration = configured()
      return (await import('./commands.ts')).applyMigrations({ ...composition, configuration })
    },
    async pendingMigrations() {
      const configuration = configured()
      return (await import('./commands.ts')).listPendingMigrations({ ...composition, configuration })
    },
    async withStore(use) {
      const configuration = configured()
      return (await import('./commands.ts')).withStore({ ...composition, configuration }, use)
    },
    async routes() {
      const configuration = configured()
      return (await import('../composition/route-table.ts')).readRoutes({ ...composition, configuration })
    },
    async openApi() {
      const configuration = configured()
      return (await import('../composition/route-table.ts')).readDocument({ ...composition, configuration })
    },
    async diagnose() {
      return (await import('./doctor.ts')).diagnose(composition)
    },
    newServiceToken: newServiceSecret,
  }
  process.exitCode = await runCli(argv, operations)
  // The channel to the primary would keep a worker alive that could not start, or is done.
  leaveWorkers()
}

function configured(): Configuration {
  const { configuration, warnings } = readProcessConfiguration()
  // The primary has said it already.
  for (const warning of isWorker ? [] : warnings) process.stderr.write(`latchkey: ${warning}\n`)
  return configuration
}
