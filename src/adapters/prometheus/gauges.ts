import { Gauge, type Registry } from 'prom-client'
import type { HashingLoad, PoolConnections } from '../../application/ports/metrics.ts'
import { registerConditions } from './conditions.ts'
import { type MetricName, metricOptions } from './definitions.ts'

/** Functions that are called when the metrics are read; a metric without its function has no value. */
export interface Watched {
  readonly activeRequests?: () => number
  readonly openConnections?: () => number
  readonly cacheEntries?: () => number
  readonly leaseHeld?: () => boolean
  readonly hashing?: () => HashingLoad
  readonly verifiers?: () => number
  readonly connections?: () => PoolConnections
  readonly maxConnections?: number
  /** The versions of the service and of Node. */
  readonly versions?: { readonly service: string; readonly node: string }
  readonly readiness?: () => Promise<ReadinessGauge>
  /** The file systems on which a full disk stops the service. */
  readonly disks?: () => Promise<readonly DiskSpace[]>
  /** Null if they could not be counted. */
  readonly activeTokens?: () => Promise<number | null>
}

/** Whether requests can be served, and whether each check passes. */
export interface ReadinessGauge {
  readonly ready: boolean
  readonly passed: Readonly<Record<string, boolean>>
}

/** The space of the file system of a folder, in bytes. `folder` is the name of the setting that selects it. */
export interface DiskSpace {
  readonly folder: string
  readonly freeBytes: number
  readonly sizeBytes: number
}

/** Registers the gauges whose values `watched` returns. */
export function registerGauges(registry: Registry, watched: () => Watched): void {
  registerGauge('http_server_active_requests', () => watched().activeRequests?.())
  registerGauge('latchkey_open_connections', () => watched().openConnections?.())
  registerGauge('latchkey_max_connections', () => watched().maxConnections)
  registerGauge('latchkey_token_cache_entries', () => watched().cacheEntries?.())
  registerGauge('latchkey_lease_held', () => toNumber(watched().leaseHeld?.()))
  registerGauge('latchkey_verifiers', () => watched().verifiers?.())
  registerGauge('latchkey_hashing_running', () => watched().hashing?.().running)
  registerGauge('latchkey_hashing_waiting', () => watched().hashing?.().waiting)
  registerGauge('db_client_connection_max', () => watched().connections?.().max)
  registerGauge('db_client_connection_pending_requests', () => watched().connections?.().pending)
  new Gauge({
    ...options('db_client_connections'),
    collect() {
      const connections = watched().connections?.()
      if (connections === undefined) return
      this.set({ db_client_connection_state: 'idle' }, connections.idle)
      this.set({ db_client_connection_state: 'used' }, connections.used)
    },
  })
  new Gauge({
    ...options('latchkey_build_info'),
    collect() {
      const { versions } = watched()
      if (versions !== undefined) this.set({ version: versions.service, node: versions.node }, 1)
    },
  })
  registerConditions(registry, watched)
  // Last, because it takes a connection and would count itself as waiting.
  registerGauge('latchkey_active_tokens', () => watched().activeTokens?.())

  function options(name: MetricName) {
    return { ...metricOptions(name), registers: [registry] }
  }

  function registerGauge(
    name: MetricName,
    read: () => number | null | undefined | Promise<number | null> | undefined,
  ): void {
    new Gauge({
      ...options(name),
      async collect() {
        const value = (await read()) ?? null
        if (value === null) this.remove()
        else this.set(value)
      },
    })
  }
}

function toNumber(holds: boolean | undefined): number | undefined {
  return holds === undefined ? undefined : Number(holds)
}
