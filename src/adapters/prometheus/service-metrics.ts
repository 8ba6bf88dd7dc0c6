import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { CollectMetrics } from '../../application/ports/metrics.ts'
import { type Definition, LAG_BOUNDS, type LoginResult, METRICS, type MetricName } from './definitions.ts'
import { metricFamilies } from './metric-families.ts'
import { processMetrics } from './process-metrics.ts'
import { type RequestDurations, requestDurations } from './request-durations.ts'

/** The connections of a pool. */
export interface Connections {
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
  readonly connections?: () => Connections
  /** Null if they could not be counted. */
  readonly activeTokens?: () => Promise<number | null>
}

/** Counters of the hot path: a field costs nothing, a counter of the library a hundredth of a request. */
export interface Validations {
  cache: number
  database: number
  checksum: number
  /** Refused without a lookup: too many tokens of the address were rejected. */
  refused: number
}

/** All metrics of one service. */
export interface ServiceMetrics {
  readonly requests: RequestDurations
  readonly validations: Validations
  login(result: LoginResult): void
  evicted(): void
  discardedFill(): void
  invalidationLag(ms: number): void
  /** Adds functions that are called when the metrics are read. */
  watch(watched: Watched): void
  /** Reads all metrics of this process. */
  readonly collect: CollectMetrics
}

/** Returns metrics that begin at zero. */
export function serviceMetrics(): ServiceMetrics {
  const registry = new Registry()
  const ofProcess = processMetrics()
  const requests = requestDurations()
  const validations: Validations = { cache: 0, database: 0, checksum: 0, refused: 0 }
  let watched: Watched = {}

  const logins = new Counter(described('latchkey_logins_total'))
  for (const result of ['succeeded', 'failed', 'throttled', 'unavailable'] as const) logins.inc({ result }, 0)
  const evictions = new Counter(described('latchkey_token_cache_evictions_total'))
  const discarded = new Counter(described('latchkey_token_cache_discarded_fills_total'))
  const lag = new Histogram({ ...described('latchkey_invalidation_lag_seconds'), buckets: [...LAG_BOUNDS] })
  new Counter({
    ...described('latchkey_token_validations_total'),
    collect() {
      this.reset()
      for (const [source, count] of Object.entries(validations)) this.inc({ source }, count)
    },
  })
  sampled('http_server_active_requests', () => watched.activeRequests?.())
  sampled('latchkey_token_cache_entries', () => watched.cacheEntries?.())
  sampled('latchkey_lease_held', () => toNumber(watched.leaseHeld?.()))
  sampled('latchkey_hashing_running', () => watched.hashing?.().running)
  sampled('latchkey_hashing_waiting', () => watched.hashing?.().waiting)
  sampled('db_client_connection_max', () => watched.connections?.().max)
  sampled('db_client_connection_pending_requests', () => watched.connections?.().pending)
  new Gauge({
    ...described('db_client_connections'),
    collect() {
      const connections = watched.connections?.()
      if (connections === undefined) return
      this.set({ db_client_connection_state: 'idle' }, connections.idle)
      this.set({ db_client_connection_state: 'used' }, connections.used)
    },
  })
  // Last, because it takes a connection and would count itself as waiting.
  sampled('latchkey_active_tokens', () => watched.activeTokens?.())

  return {
    requests,
    validations,
    login: (result) => logins.inc({ result }),
    evicted: () => evictions.inc(),
    discardedFill: () => discarded.inc(),
    invalidationLag: (ms) => lag.observe(ms / 1000),
    watch(more) {
      watched = { ...watched, ...more }
    },
    collect: async () => [
      requests.family(),
      ...(await metricFamilies(registry)),
      ...(await metricFamilies(ofProcess)),
    ],
  }

  function described(name: MetricName) {
    const { labels, meaning, aggregator }: Definition = METRICS[name]
    return { name, help: meaning, labelNames: labels, aggregator, registers: [registry] }
  }

  function sampled(
    name: MetricName,
    read: () => number | null | undefined | Promise<number | null> | undefined,
  ): void {
    new Gauge({
      ...described(name),
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
