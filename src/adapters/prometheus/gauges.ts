import { Gauge, type Registry } from 'prom-client'
import type { HashingLoad, PoolConnections } from '../../application/ports/metrics.ts'
import { type MetricName, metricOptions } from './definitions.ts'

/** Functions that are called when the metrics are read; a metric without its function has no value. */
export interface Watched {
  readonly activeRequests?: () => number
  readonly openConnections?: () => number
  readonly cacheEntries?: () => number
  readonly leaseHeld?: () => boolean
  readonly hashing?: () => HashingLoad
  readonly connections?: () => PoolConnections
  /** Null if they could not be counted. */
  readonly activeTokens?: () => Promise<number | null>
}

/** Registers the gauges whose values `watched` returns. */
export function registerGauges(registry: Registry, watched: () => Watched): void {
  registerGauge('http_server_active_requests', () => watched().activeRequests?.())
  registerGauge('latchkey_open_connections', () => watched().openConnections?.())
  registerGauge('latchkey_token_cache_entries', () => watched().cacheEntries?.())
  registerGauge('latchkey_lease_held', () => toNumber(watched().leaseHeld?.()))
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
