import { Gauge, type Registry } from 'prom-client'
import { type MetricName, metricOptions } from './definitions.ts'

/** The connections of a pool. */
export interface PoolConnections {
  readonly used: number
  readonly idle: number
  readonly max: number
  /** The number of requests that wait for a connection. */
  readonly pending: number
}

/** The number of passwords that are being hashed, and that wait for it. */
export interface Hashing {
  readonly running: number
  readonly waiting: number
}

/** Functions that are called when the metrics are read; a metric without its function has no value. */
export interface Watched {
  readonly activeRequests?: () => number
  readonly cacheEntries?: () => number
  readonly leaseHeld?: () => boolean
  readonly hashing?: () => Hashing
  readonly connections?: () => PoolConnections
  /** Null if they could not be counted. */
  readonly activeTokens?: () => Promise<number | null>
}

/** Registers the gauges whose values `watched` returns. */
export function registerGauges(registry: Registry, watched: () => Watched): void {
  sampled('http_server_active_requests', () => watched().activeRequests?.())
  sampled('latchkey_token_cache_entries', () => watched().cacheEntries?.())
  sampled('latchkey_lease_held', () => toNumber(watched().leaseHeld?.()))
  sampled('latchkey_hashing_running', () => watched().hashing?.().running)
  sampled('latchkey_hashing_waiting', () => watched().hashing?.().waiting)
  sampled('db_client_connection_max', () => watched().connections?.().max)
  sampled('db_client_connection_pending_requests', () => watched().connections?.().pending)
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
  sampled('latchkey_active_tokens', () => watched().activeTokens?.())

  function options(name: MetricName) {
    return { ...metricOptions(name), registers: [registry] }
  }

  function sampled(
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
