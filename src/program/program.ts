import { lineWidth, wrapText } from '../adapters/cli/line-width.ts'
import type { Operations } from '../adapters/cli/operations.ts'
import { runCli } from '../adapters/cli/run-cli.ts'
import { ignoreNativeDriver, readProcessConfiguration } from '../adapters/config/process-configuration.ts'
import type { ObjectSchema } from '../adapters/http/routing/declared-route.ts'
import { isWorker, leaveWorkers } from '../adapters/node-cluster/worker.ts'
import { newServiceSecret } from '../adapters/node-crypto/service-secrets.ts'
import type { Configuration } from '../application/configuration.ts'
import type { Database, OpenDatabase } from '../application/ports/database.ts'
import type { AdapterOverrides } from '../composition/adapters.ts'
import type { RoutesOptions } from '../composition/routes-options.ts'
import type { ServiceHooks } from '../composition/service-hooks.ts'
import { surviveClosedTerminals } from './terminals.ts'

/** The parts of a program. Its settings come from the environment. */
export interface Composition<Me extends ObjectSchema = ObjectSchema, Open extends OpenDatabase = OpenDatabase>
  extends Omit<RoutesOptions<Me, Open>, 'configuration' | 'routes'>,
    Pick<RoutesOptions<Me, Open>, 'routes'>,
    ServiceHooks<Open> {
  /** The database of customers and tokens. Default: PostgreSQL. */
  readonly database?: Database<Open>
  /** Adapters that replace the defaults, one by one. */
  readonly adapters?: AdapterOverrides
}

/**
 * Runs the command in `argv`, the arguments after the program's name; without a command, runs the service. Sets the exit code
 * of the process. Every command uses the routes and the database of the composition.
 */
export async function runProgram<Me extends ObjectSchema, Open extends OpenDatabase = OpenDatabase>(
  composition: Composition<Me, Open>,
  argv: readonly string[] = process.argv.slice(2),
): Promise<void> {
  surviveClosedTerminals()
  ignoreNativeDriver()
  // Without a listener, node opens its debugger to every account of the machine.
  process.on('SIGUSR1', () => {})
  // Each command loads its modules when it runs, so that `--help` and an invalid setting do not wait for a database driver.
  let command = ''
  const operations: Operations = {
    version: composition.version,
    begin(words) {
      command = words
    },
    async serve() {
      const configuration = loadConfiguration()
      const { serve } = await import('./serve.ts')
      await serve({ ...composition, configuration })
    },
    async migrate() {
      const configuration = loadConfiguration()
      return (await import('./commands.ts')).applyMigrations({ ...composition, configuration })
    },
    async pendingMigrations() {
      const configuration = loadConfiguration()
      return (await import('./commands.ts')).listPendingMigrations({ ...composition, configuration })
    },
    async withStore(use, options) {
      const configuration = loadConfiguration()
      return (await import('./commands.ts')).withStore(
        { ...composition, configuration, command },
        use,
        options,
      )
    },
    async backUp(options) {
      const configuration = loadConfiguration()
      return (await import('./commands.ts')).backUp({ ...composition, configuration }, options)
    },
    async restore(options) {
      const configuration = loadConfiguration()
      return (await import('./commands.ts')).restore({ ...composition, configuration }, options)
    },
    async upgradeData(options) {
      const configuration = loadConfiguration()
      return (await import('./commands.ts')).upgradeData({ ...composition, configuration }, options)
    },
    async routes() {
      const configuration = loadConfiguration()
      return (await import('../composition/route-table.ts')).readRoutes({ ...composition, configuration })
    },
    async openApi() {
      const configuration = loadConfiguration()
      return (await import('../composition/route-table.ts')).readDocument({ ...composition, configuration })
    },
    async diagnose() {
      return (await import('./doctor.ts')).diagnose(composition)
    },
    newServiceToken: newServiceSecret,
  }
  process.exitCode = await runCli(argv, operations)
  // The channel to the primary would keep a worker alive that has failed to start or has finished.
  leaveWorkers()
}

function loadConfiguration(): Configuration {
  const { configuration, warnings } = readProcessConfiguration()
  // The primary has already printed the warnings.
  for (const warning of isWorker ? [] : warnings)
    process.stderr.write(wrapText('latchkey: ', warning, lineWidth(process.stderr)))
  return configuration
}
