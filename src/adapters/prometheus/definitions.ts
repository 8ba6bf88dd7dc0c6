/** A metric as the documentation and the exposition show it. */
export interface Definition {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly meaning: string
  /** How the values of several workers are aggregated. */
  readonly aggregator: 'sum' | 'min' | 'max'
}

/** The result of a login, for its metric. */
export type LoginResult = PasswordChangeResult | 'too_many_sessions'

/** The result of a change of the password, for its metric. */
export type PasswordChangeResult = 'succeeded' | 'failed' | 'throttled' | 'unavailable'

/** Every metric of the service, in the order of the documentation, with OpenTelemetry's names and units where they exist. */
export const METRICS = {
  http_server_request_duration_seconds: histogram(
    'time from the head of a request to the end of its response',
    ['http_request_method', 'http_route', 'http_response_status_code'],
  ),
  http_server_active_requests: gauge('requests whose response is not sent completely'),
  latchkey_open_connections: gauge('connections of clients, without refused ones'),
  latchkey_max_connections: gauge('connections of clients that `MAX_CONNECTIONS` allows'),
  latchkey_connections_dropped_total: counter(
    'connections closed by `reason`: `idle` (the longest idle one, at `MAX_CONNECTIONS`), `refused` (a new one, when none was idle) or `stalled` (its client did not read)',
    ['reason'],
  ),
  latchkey_logins_total: counter(
    'logins by `result`: `succeeded`, `failed`, `throttled` (refused without verification), `too_many_sessions` or `unavailable`',
    ['result'],
  ),
  latchkey_password_changes_total: counter(
    'changes of the password by customers, by `result`: `succeeded`, `failed` (the current password is wrong), `throttled` or `unavailable`',
    ['result'],
  ),
  latchkey_token_validations_total: counter(
    'tokens verified, by `source` of the result: `cache`, `database`, `checksum` for malformed tokens, or `refused` without a lookup after too many unknown ones',
    ['source'],
  ),
  latchkey_token_cache_entries: gauge('cached validations'),
  latchkey_token_cache_evictions_total: counter('validations evicted from a full cache'),
  latchkey_token_cache_discarded_fills_total: counter(
    'lookups that were not cached, because an invalidation arrived during the lookup',
  ),
  latchkey_invalidation_lag_seconds: histogram(
    'round-trip time of a heartbeat: the time until a change is applied',
  ),
  latchkey_lease_held: gauge(
    '1 while cached validations may be used, 0 while every token is looked up',
    [],
    'min',
  ),
  latchkey_verifiers: gauge('connected verifiers, which cache validations in other processes'),
  latchkey_verifiers_disconnected_total: counter(
    'verifiers disconnected by `reason`: `hung` (it did not acknowledge in time), `slow_reader`, `malformed`, `silent`, `revoked` (its service token) or `draining`',
    ['reason'],
  ),
  latchkey_active_tokens: gauge(
    'tokens that are neither revoked nor expired, counted in the database at most once a minute',
    [],
    'max',
  ),
  latchkey_hashing_running: gauge('passwords that are being hashed'),
  latchkey_hashing_waiting: gauge('passwords that wait to be hashed'),
  db_client_connections: gauge('connections of the pool by state: `idle` or `used`', [
    'db_client_connection_state',
  ]),
  db_client_connection_max: gauge('connections that the pool may have'),
  db_client_connection_pending_requests: gauge('requests that wait for a connection of the pool'),
  latchkey_ready: gauge('1 while `/readyz` returns 200, else 0', [], 'min'),
  latchkey_readiness_check: gauge(
    '1 while the `check` of `/readyz` passes, else 0; `draining` passes until the instance stops',
    ['check'],
    'min',
  ),
  latchkey_audit_failures_total: counter('events that could not be written to the audit log'),
  latchkey_disk_free_bytes: gauge(
    'free space of the file system of a `folder`: that of `AUDIT_LOG`, or `DATA_DIR` with the embedded PostgreSQL',
    ['folder'],
    'min',
  ),
  latchkey_disk_size_bytes: gauge('size of the same file system', ['folder'], 'min'),
  latchkey_worker_restarts_total: counter('workers that ended unexpectedly and are replaced'),
  latchkey_build_info: gauge('1, with the versions of the service and of Node', ['version', 'node'], 'max'),
  nodejs_eventloop_delay_p50_seconds: gauge('median of the event loop delay', [], 'max'),
  nodejs_eventloop_delay_p90_seconds: gauge('90th percentile of the event loop delay', [], 'max'),
  nodejs_eventloop_delay_p99_seconds: gauge('99th percentile of the event loop delay', [], 'max'),
  nodejs_eventloop_delay_max_seconds: gauge('maximum of the event loop delay', [], 'max'),
} as const satisfies Record<string, Definition>

/** The name of a metric of the service. */
export type MetricName = keyof typeof METRICS

/** Returns the options of the metric for the library. */
export function metricOptions(name: MetricName) {
  const { labels, meaning, aggregator }: Definition = METRICS[name]
  return { name, help: meaning, labelNames: labels, aggregator }
}

/** Upper bounds in seconds: those that OpenTelemetry recommends for HTTP, and lower ones for cached validations. */
export const REQUEST_BOUNDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5,
  7.5, 10,
] as const

/** Upper bounds in seconds, around the lease of one second. */
export const LAG_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5] as const

function counter(meaning: string, labels: readonly string[] = []): Definition {
  return { type: 'counter', labels, meaning, aggregator: 'sum' }
}

function histogram(meaning: string, labels: readonly string[] = []): Definition {
  return { type: 'histogram', labels, meaning, aggregator: 'sum' }
}

function gauge(
  meaning: string,
  labels: readonly string[] = [],
  aggregator: Definition['aggregator'] = 'sum',
): Definition {
  return { type: 'gauge', labels, meaning, aggregator }
}
