import { documentationRoutes } from '../adapters/http/docs-page/routes.ts'
import type { ApiDocument } from '../adapters/http/openapi/document.ts'
import { type OpsSource, opsRoutes } from '../adapters/http/ops-page/routes.ts'
import { builtInRoutes } from '../adapters/http/routes/built-in-routes.ts'
import { metricsRoute } from '../adapters/http/routes/metrics-route.ts'
import { probeRoutes, type ReadinessReport } from '../adapters/http/routes/probe-routes.ts'
import { sessionRoutes } from '../adapters/http/routes/session-routes.ts'
import { verificationRoutes } from '../adapters/http/routes/verification-routes.ts'
import type { Method, Route } from '../adapters/http/routing/declared-route.ts'
import { createRouter } from '../adapters/http/routing/router.ts'
import { httpUrl } from '../adapters/http/server/listen.ts'
import { type VerifiersOptions, verifiersRoute } from '../adapters/http/verifiers/verifiers-route.ts'
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
  /** Called for each custom route that replaces one of sessions or password. */
  readonly onReplaced?: (method: Method, path: string) => void
  readonly verifiers: VerifiersOptions
}

/** Returns all routes of a service, in the order of declaration. Throws `RouteRefused` for a mistake. */
export function routeTable(options: RoutesOptions, useCases: UseCases, running: Running): readonly Route[] {
  const { configuration } = options
  const documented = documentedRoutes(options, useCases, running)
  const describe = async () => (await describeAt(options, documented, running.url())).document
  return [
    ...documented,
    ...verificationRoutes(useCases, configuration.foreignTokens.includes('drf')),
    verifiersRoute(useCases, running.verifiers),
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
    verifiers: unboundUseCases() as never,
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
  { readiness, database, onReplaced }: Pick<Running, 'readiness' | 'database' | 'onReplaced'>,
): readonly Route[] {
  const { configuration, version, me } = options
  const builtIn = builtInRoutes(useCases, {
    version: configuration.appVersion ?? version,
    cachesMe: configuration.tokenCacheTtlMs > 0,
    me,
  })
  const own = options.routes?.(useCases, database) ?? []
  const ownShapes = new Set(own.map(shapeOf))
  const replaceable = sessionRoutes(useCases)
  const replaced = replaceable.filter((route) => ownShapes.has(shapeOf(route)))
  for (const { method, path } of replaced) onReplaced?.(method, path)
  return [
    ...builtIn,
    ...replaceable.filter((route) => !replaced.includes(route)),
    ...probeRoutes(useCases, readiness),
    ...own,
  ]
}

/** Returns what distinguishes routes: the names of parameters do not. */
function shapeOf({ method, path }: Route): string {
  return `${method} ${path.replace(/:\w+/g, ':id')}`
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
