import type { Lines } from '../adapters/access-log/block-writer.ts'
import type { ObjectSchema } from '../adapters/http/routing/declared-route.ts'
import type { SamplingTimes } from '../adapters/ops/samples.ts'
import type { PruningTimes } from '../application/jobs/pruning.ts'
import type { Database, OpenDatabase } from '../application/ports/database.ts'
import type { Log } from '../application/ports/log.ts'
import type { AdapterOverrides } from './adapters.ts'
import type { RoutesOptions } from './routes-options.ts'
import type { ServiceHooks } from './service-hooks.ts'

/** The options of a service. */
export interface ServiceOptions<
  Me extends ObjectSchema = ObjectSchema,
  Open extends OpenDatabase = OpenDatabase,
> extends RoutesOptions<Me, Open>,
    ServiceHooks<Open> {
  /** The log of the service. */
  readonly log: Log
  /** The database of customers and tokens. Default: PostgreSQL. */
  readonly database?: Database<Open>
  /** Adapters that replace defaults one by one. */
  readonly adapters?: AdapterOverrides
  /** The output of the access log. Default: standard output. */
  readonly accessLines?: Lines
  /** The output of the audit log when `AUDIT_LOG` names no file. Default: standard output. */
  readonly auditLines?: Pick<Lines, 'write'>
  /** The schedule of pruning. Default: hourly. */
  readonly pruningTimes?: PruningTimes
  /**
   * Called with each error of a response of status 500 or higher; with a bug as it was thrown. Must neither throw nor wait.
   * Default: no call.
   */
  readonly onError?: (error: unknown) => void
  /** The interval of the samples for the operator's page. Default: five seconds. */
  readonly samplingTimes?: SamplingTimes | undefined
}
