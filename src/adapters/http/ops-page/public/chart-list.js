const SHORT = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })
const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

const count = (value) => (value >= 100 ? WHOLE : SHORT).format(value)
const perSecond = (value) => `${count(value)} /s`
const perMinute = (value) => `${count(value)} /min`
const duration = (seconds) => (seconds < 1 ? `${count(seconds * 1000)} ms` : `${count(seconds)} s`)
const sum = (...values) => values.reduce((total, value) => total + (value ?? 0), 0)

/**
 * The charts, in the order of the page. A series is a column of the samples, multiplied by `times`, in a colour of the
 * page. `headline` and `detail` return the most important texts of one sample, or null.
 */
export const CHARTS = [
  {
    title: 'Requests',
    format: perSecond,
    least: 1,
    series: [
      { label: 'Succeeded, 2xx and 3xx', column: 'requests_succeeded', color: '--blue', filled: true },
      { label: 'Refused, 4xx', column: 'requests_refused', color: '--amber' },
      { label: 'Failed, 5xx', column: 'requests_failed', color: '--red' },
    ],
    headline: (at) => perSecond(sum(at.requests_succeeded, at.requests_refused, at.requests_failed)),
    detail: (at) => (at.requests_active === null ? null : `${count(at.requests_active)} in progress`),
  },
  {
    title: 'Latency',
    format: duration,
    least: 0.005,
    empty: 'No requests',
    series: [
      { label: 'p99', column: 'duration_p99', color: '--amber' },
      { label: 'p50', column: 'duration_p50', color: '--blue', filled: true },
    ],
    headline: (at) => (at.duration_p99 === null ? null : duration(at.duration_p99)),
    detail: () => 'p99, without logins',
  },
  {
    title: 'Latency of logins',
    format: duration,
    least: 0.1,
    empty: 'No logins',
    series: [
      { label: 'p99', column: 'login_duration_p99', color: '--amber' },
      { label: 'p50', column: 'login_duration_p50', color: '--blue', filled: true },
    ],
    headline: (at) => (at.login_duration_p99 === null ? null : duration(at.login_duration_p99)),
    detail: () => 'p99',
  },
  {
    title: 'Logins',
    format: perMinute,
    least: 1,
    series: [
      { label: 'Succeeded', column: 'logins_succeeded', times: 60, color: '--green', filled: true },
      { label: 'Failed', column: 'logins_failed', times: 60, color: '--red' },
      { label: 'Throttled', column: 'logins_throttled', times: 60, color: '--amber' },
      { label: 'Unavailable', column: 'logins_unavailable', times: 60, color: '--grey', dashed: true },
    ],
    headline: (at) => perMinute(60 * sum(at.logins_succeeded)),
    detail: () => 'succeeded',
  },
  {
    title: 'Tokens checked',
    format: perSecond,
    least: 1,
    series: [
      { label: 'From the cache', column: 'validations_cache', color: '--green', filled: true },
      { label: 'In the database', column: 'validations_database', color: '--blue' },
      { label: 'Malformed', column: 'validations_checksum', color: '--amber', dashed: true },
    ],
    headline(at) {
      const lookedUp = sum(at.validations_cache, at.validations_database)
      return lookedUp === 0 ? null : `${count((100 * at.validations_cache) / lookedUp)} %`
    },
    detail: () => 'from the cache',
  },
  {
    title: 'Lease of the cache',
    format: (value) => (value === 1 ? 'held' : 'lost'),
    most: 1,
    stepped: true,
    ticks: [0, 1],
    series: [{ label: 'Lease', column: 'lease_held', color: '--green', filled: true }],
    headline: (at) => (at.lease_held === null ? null : at.lease_held === 1 ? 'held' : 'lost'),
    detail: (at) => (at.cache_entries === null ? null : `${count(at.cache_entries)} cached tokens`),
  },
  {
    title: 'Password hashing',
    format: count,
    least: 2,
    series: [
      { label: 'Waiting', column: 'hashing_waiting', color: '--amber', filled: true },
      { label: 'Running', column: 'hashing_running', color: '--blue' },
    ],
    headline: (at) => (at.hashing_waiting === null ? null : count(at.hashing_waiting)),
    detail: () => 'waiting',
  },
  {
    title: 'Database connections',
    format: count,
    least: 2,
    series: [
      { label: 'In use', column: 'connections_used', color: '--blue', filled: true },
      { label: 'Idle', column: 'connections_idle', color: '--green' },
      { label: 'Waiting requests', column: 'connections_pending', color: '--red' },
    ],
    headline: (at) => (at.connections_used === null ? null : count(at.connections_used)),
    detail: (at) => (at.connections_max === null ? null : `in use, of ${count(at.connections_max)}`),
  },
  {
    title: 'Delay of the event loop',
    format: duration,
    least: 0.01,
    series: [
      { label: 'p99', column: 'loop_delay_p99', color: '--amber' },
      { label: 'p50', column: 'loop_delay_p50', color: '--blue', filled: true },
    ],
    headline: (at) => (at.loop_delay_p99 === null ? null : duration(at.loop_delay_p99)),
    detail: () => 'p99',
  },
]
