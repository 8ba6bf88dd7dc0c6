import { documentationRoutes } from '../adapters/http/docs-page/routes.ts'
import type { ApiDocument } from '../adapters/http/openapi/document.ts'
import { type OpsSource, opsRoutes } from '../adapters/http/ops-page/routes.ts'
import { builtInRoutes } from '../adapters/http/routes/built-in-routes.ts'
import { metricsRoute } from '../adapters/http/routes/metrics-route.ts'
import { probeRoutes, type ReadinessReport } from '../adapters/http/routes/probe-routes.ts'
import type { Route } from '../adapters/http/routing/declared-route.ts'
import { createRouter } from '../adapters/http/routing/router.ts'
import { httpUrl } from '../adapters/http/server/listen.ts'
import { exposition } from '../adapters/prometheus/metric-families.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import type { CollectMetrics } from '../application/ports/metrics.ts'
import { unboundDatabase, unboundUseCases } from '../application/use-cases/unbound-use-cases.ts'
import type { UseCases } from '../application/use-cases/use-cases.ts'
import type { RoutesOptions } from './routes-options.ts'

const NOT_READY = async () => ({ ready: false, checks: {} })

/** What some routes need from the running service. */
export interface Running {
  readonly readiness: () => Promise<ReadinessReport>
  /** The address in the documentation. */
  readonly url: () => string
  readonly database: OpenDatabase
  readonly collectMetrics: CollectMetrics
  /** The data of the operator's page; null without that page. */
  readonly ops: OpsSource | null
}

/** Returns all routes of a service, in the order of declaration. Throws `RouteRefused` for a mistake. */
export function routeTable(options: RoutesOptions, useCases: UseCases, running: Running): readonly Route[] {
  const { configuration } = options
  const documented = documentedRoutes(options, useCases, running)
  const describe = async () => (await describeAt(options, documented, running.url())).document
  return [
    ...documented,
    metricsRoute('service', async () => exposition(await running.collectMetrics())),
    ...(configuration.docs ? documentationRoutes(describe, options.docs) : []),
    ...(running.ops === null ? [] : opsRoutes(useCases, running.ops)),
  ]
}

/** Returns the same table without a running service, for commands. Throws `RouteRefused` for a mistake, as at startup. */
export function readRoutes(options: RoutesOptions): readonly Route[] {
  const table = routeTable(options, unboundUseCases(), {
    readiness: NOT_READY,
    url: () => '',
    database: unboundDatabase(),
    collectMetrics: async () => [],
    ops: options.configuration.ops ? { live: () => ({}), nowMs: () => 0, publicUrl: null } : null,
  })
  createRouter(table)
  return table
}

/** Returns the OpenAPI document without a running service. */
export function readDocument(options: RoutesOptions): Promise<ApiDocument> {
  const { publicUrl, host, port } = options.configuration
  readRoutes(options)
  const documented = documentedRoutes(options, unboundUseCases(), {
    readiness: NOT_READY,
    database: unboundDatabase(),
  })
  return describeAt(options, documented, publicUrl ?? httpUrl(host, port))
}

function documentedRoutes(
  options: RoutesOptions,
  useCases: UseCases,
  { readiness, database }: Pick<Running, 'readiness' | 'database'>,
): readonly Route[] {
  const { configuration, version, me } = options
  return [
    ...builtInRoutes(useCases, {
      version: configuration.appVersion ?? version,
      cachesMe: configuration.tokenCacheTtlMs > 0,
      me,
    }),
    ...probeRoutes(useCases, readiness),
    ...(options.routes?.(useCases, database) ?? []),
  ]
}

async function describeAt(
  { title = 'API', description, version, configuration }: RoutesOptions,
  routes: readonly Route[],
  serverUrl: string,
): Promise<ApiDocument> {
  // Not needed at startup, and never by most instances.
  const { openApiDocument } = await import('../adapters/http/openapi/document.ts')
  return openApiDocument(routes, {
    title,
    description: description ?? null,
    version: configuration.appVersion ?? version,
    serverUrl,
  })
}
