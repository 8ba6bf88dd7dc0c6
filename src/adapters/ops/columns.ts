import { type Column, type Labels, level, quantile, rate, ratio, shareAbove } from './reading.ts'

const REQUESTS = 'http_server_request_duration_seconds'
const RESPONSES = `${REQUESTS}_count`
const LOGINS = 'latchkey_logins_total'
const VALIDATIONS = 'latchkey_token_validations_total'
const CONNECTIONS = 'db_client_connections'

/** Every column of a sample: rates per second, durations in seconds, all others as counts. */
export const COLUMNS = {
  requests_succeeded: rate(RESPONSES, matchesStatus(/^[123]/)),
  requests_refused: rate(RESPONSES, matchesStatus(/^4/)),
  requests_failed: rate(RESPONSES, matchesStatus(/^5/)),
  requests_active: level('http_server_active_requests'),
  duration_p50: quantile(0.5, REQUESTS, isOther),
  duration_p99: quantile(0.99, REQUESTS, isOther),
  slow_share: shareAbove('0.25', REQUESTS, isOther),
  login_duration_p50: quantile(0.5, REQUESTS, isLogin),
  login_duration_p99: quantile(0.99, REQUESTS, isLogin),
  logins_succeeded: rate(LOGINS, has('result', 'succeeded')),
  logins_failed: rate(LOGINS, has('result', 'failed')),
  logins_throttled: rate(LOGINS, has('result', 'throttled')),
  logins_unavailable: rate(LOGINS, has('result', 'unavailable')),
  validations_cache: rate(VALIDATIONS, has('source', 'cache')),
  validations_database: rate(VALIDATIONS, has('source', 'database')),
  validations_checksum: rate(VALIDATIONS, has('source', 'checksum')),
  cache_entries: level('latchkey_token_cache_entries'),
  lease_held: level('latchkey_lease_held'),
  hashing_running: level('latchkey_hashing_running'),
  hashing_waiting: level('latchkey_hashing_waiting'),
  connections_used: level(CONNECTIONS, has('db_client_connection_state', 'used')),
  connections_idle: level(CONNECTIONS, has('db_client_connection_state', 'idle')),
  connections_max: level('db_client_connection_max'),
  connections_pending: level('db_client_connection_pending_requests'),
  connections_share: ratio('latchkey_open_connections', 'latchkey_max_connections'),
  audit_failures: rate('latchkey_audit_failures_total'),
  disk_free_share: ratio('latchkey_disk_free_bytes', 'latchkey_disk_size_bytes'),
  worker_restarts: level('latchkey_worker_restarts_total'),
  loop_delay_p50: level('nodejs_eventloop_delay_p50_seconds'),
  loop_delay_p99: level('nodejs_eventloop_delay_p99_seconds'),
} as const satisfies Readonly<Record<string, Column>>

export type ColumnName = keyof typeof COLUMNS

function has(label: string, value: string) {
  return (labels: Labels) => labels[label] === value
}

function matchesStatus(status: RegExp) {
  return (labels: Labels) => !isLeftOut(labels) && status.test(String(labels.http_response_status_code))
}

/** Hashing is slow on purpose. Together with the other requests, these would hide them. */
function isLogin({ http_route }: Labels): boolean {
  return http_route === '/api/login' || http_route === '/api/password'
}

function isOther(labels: Labels): boolean {
  return !isLogin(labels) && !isLeftOut(labels)
}

/** The page's own requests, which would change its charts, and probes, whose 503 fails no client's request. */
function isLeftOut({ http_route }: Labels): boolean {
  return /^\/(ops(\/|$)|readyz$)/.test(String(http_route))
}
