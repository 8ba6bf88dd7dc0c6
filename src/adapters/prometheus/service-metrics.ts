import { Counter, Histogram, Registry } from 'prom-client'
import type { CollectMetrics } from '../../application/ports/metrics.ts'
import type { DropReason } from '../../application/ports/request-observers.ts'
import { DISCONNECT_REASONS, type DisconnectReason } from '../../application/verifiers/verifier-session.ts'
import {
  LAG_BOUNDS,
  type LoginResult,
  type MetricName,
  metricOptions,
  type PasswordChangeResult,
} from './definitions.ts'
import { registerGauges, type Watched } from './gauges.ts'
import { metricFamilies } from './metric-families.ts'
import { processMetrics } from './process-metrics.ts'
import { type RequestDurations, requestDurations } from './request-durations.ts'

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
  passwordChange(result: PasswordChangeResult): void
  dropped(reason: DropReason): void
  verifierDisconnected(reason: DisconnectReason): void
  evicted(): void
  discardedFill(): void
  invalidationLag(ms: number): void
  auditFailed(): void
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
  const options = (name: MetricName) => ({ ...metricOptions(name), registers: [registry] })
  let watched: Watched = {}

  const logins = new Counter(options('latchkey_logins_total'))
  const passwordChanges = new Counter(options('latchkey_password_changes_total'))
  for (const result of ['succeeded', 'failed', 'throttled', 'unavailable'] as const) {
    logins.inc({ result }, 0)
    passwordChanges.inc({ result }, 0)
  }
  logins.inc({ result: 'too_many_sessions' }, 0)
  const drops = new Counter(options('latchkey_connections_dropped_total'))
  for (const reason of ['idle', 'refused', 'stalled'] as const) drops.inc({ reason }, 0)
  const disconnections = new Counter(options('latchkey_verifiers_disconnected_total'))
  for (const reason of DISCONNECT_REASONS) disconnections.inc({ reason }, 0)
  const evictions = new Counter(options('latchkey_token_cache_evictions_total'))
  const discarded = new Counter(options('latchkey_token_cache_discarded_fills_total'))
  const auditFailures = new Counter(options('latchkey_audit_failures_total'))
  // The primary counts them; a single process has none.
  new Counter(options('latchkey_worker_restarts_total'))
  const lag = new Histogram({ ...options('latchkey_invalidation_lag_seconds'), buckets: [...LAG_BOUNDS] })
  new Counter({
    ...options('latchkey_token_validations_total'),
    collect() {
      this.reset()
      for (const [source, count] of Object.entries(validations)) this.inc({ source }, count)
    },
  })
  registerGauges(registry, () => watched)

  return {
    requests,
    validations,
    login: (result) => logins.inc({ result }),
    passwordChange: (result) => passwordChanges.inc({ result }),
    dropped: (reason) => drops.inc({ reason }),
    verifierDisconnected: (reason) => disconnections.inc({ reason }),
    evicted: () => evictions.inc(),
    discardedFill: () => discarded.inc(),
    invalidationLag: (ms) => lag.observe(ms / 1000),
    auditFailed: () => auditFailures.inc(),
    watch(more) {
      watched = { ...watched, ...more }
    },
    collect: async () => [
      requests.family(),
      ...(await metricFamilies(registry)),
      ...(await metricFamilies(ofProcess)),
    ],
  }
}
