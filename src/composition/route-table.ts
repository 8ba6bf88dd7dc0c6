import { documentationRoutes } from '../adapters/http/docs-page/routes.ts'
import type { ApiDocument } from '../adapters/http/openapi/document.ts'
import { type OpsSource, opsRoutes } from '../adapters/http/ops-page/routes.ts'
import {
  builtInRoutes,
  type MeResponse,
  probeRoutes,
  type ReadinessReport,
} from '../adapters/http/routes/built-in-routes.ts'
import { metricsRoute } from '../adapters/http/routes/metrics-route.ts'
import type { ObjectSchema, Route } from '../adapters/http/routing/declared-route.ts'
import { createRouter } from '../adapters/http/routing/router.ts'
import { type CollectMetrics, exposition } from '../adapters/prometheus/metric-families.ts'
import type { Configuration } from '../application/configuration.ts'
import { unboundUseCases } from '../application/use-cases/unbound-use-cases.ts'
import type { UseCases } from '../application/use-cases/use-cases.ts'

/** What the table of routes is made from. */
export interface RoutesOptions<Me extends ObjectSchema = ObjectSchema> {
  readonly configuration: Configuration
  /** The version of the package, reported where none is configured. */
  readonly version: string
  /** Routes of one's own, beside the built-in ones. */
  readonly routes?: (useCases: UseCases) => readonly Route[]
  /** What `me` answers; where it is not given, the customer and the token without their secrets. */
  readonly me?: MeResponse<Me>
}

const NOT_READY = async () => ({ ready: false, checks: {} })

/** What some routes need of the service that they are part of. */
export interface Running {
  readonly readiness: () => Promise<ReadinessReport>
  /** The address in the documentation. */
  readonly url: () => string
  readonly collectMetrics: CollectMetrics
  /** What the operator's page shows; null for no such page. */
  readonly ops: OpsSource | null
}

/** Everything that a service answers, in the order of its declaration; a mistake in it throws `RouteRefused`. */
export function routeTable(options: RoutesOptions, useCases: UseCases, running: Running): readonly Route[] {
  const { configuration } = options
  const documented = documentedRoutes(options, useCases, running.readiness)
  const describe = async () => (await describedAt(documented, running.url())).document
  return [
    ...documented,
    metricsRoute('service', async () => exposition(await running.collectMetrics())),
    ...(configuration.docs ? documentationRoutes(describe) : []),
    ...(running.ops === null ? [] : opsRoutes(useCases, running.ops)),
  ]
}

/** The same table of a service that does not run, for commands; a mistake in it is told as it is at the start. */
export function readRoutes(options: RoutesOptions): readonly Route[] {
  const table = routeTable(options, unboundUseCases(), {
    readiness: NOT_READY,
    url: () => '',
    collectMetrics: async () => [],
    ops: options.configuration.ops ? { live: () => ({}), nowMs: () => 0, publicUrl: null } : null,
  })
  createRouter(table)
  return table
}

/** The document of a service that does not run. */
export function readDocument(options: RoutesOptions): Promise<ApiDocument> {
  const { publicUrl, host, port } = options.configuration
  readRoutes(options)
  const documented = documentedRoutes(options, unboundUseCases(), NOT_READY)
  return describedAt(documented, publicUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`)
}

function documentedRoutes(
  { configuration, version, routes, me }: RoutesOptions,
  useCases: UseCases,
  readiness: () => Promise<ReadinessReport>,
): readonly Route[] {
  return [
    ...builtInRoutes(useCases, {
      version: configuration.appVersion ?? version,
      cachesMe: configuration.tokenCacheTtlMs > 0,
      me,
    }),
    ...probeRoutes(useCases, readiness),
    ...(routes?.(useCases) ?? []),
  ]
}

async function describedAt(routes: readonly Route[], serverUrl: string): Promise<ApiDocument> {
  // Not needed to start, and by most instances never.
  const { openApiDocument } = await import('../adapters/http/openapi/document.ts')
  return openApiDocument(routes, { title: 'Latchkey API', label: 'v4', serverUrl })
}
