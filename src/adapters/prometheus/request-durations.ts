import type { MetricFamily, MetricValue } from '../../application/ports/metrics.ts'
import type { EndedRequest } from '../../application/ports/request-observers.ts'
import { METRICS, REQUEST_BOUNDS } from './definitions.ts'

/** Durations of requests by method, route and status. */
export interface RequestDurations {
  observe(ended: EndedRequest): void
  family(): MetricFamily
}

interface Series {
  readonly labels: Readonly<Record<string, string>>
  /** By bucket, not cumulative; the last bucket holds the values above every bound. */
  readonly counts: Float64Array
  sum: number
}

const NAME = 'http_server_request_duration_seconds'
const UNMATCHED = 'unmatched'
/** The methods that OpenTelemetry distinguishes; `_OTHER` stands for all others. */
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'])
const OTHER = '_OTHER'

/** Counted by hand: the library's histogram takes half a microsecond per value, a thirtieth of a whole request. */
export function requestDurations(): RequestDurations {
  const byRoute = new Map<string | null, Map<string, Map<number | null, Series>>>()
  const all: Series[] = []

  return {
    observe({ method, route, status, beganMs }) {
      const seconds = beganMs === null ? 0 : (performance.now() - beganMs) / 1000
      const series = findSeries(route, method !== null && METHODS.has(method) ? method : OTHER, status)
      let bucket = 0
      while (bucket < REQUEST_BOUNDS.length && seconds > (REQUEST_BOUNDS[bucket] as number)) bucket++
      series.counts[bucket] = (series.counts[bucket] as number) + 1
      series.sum += seconds
    },

    family: () => ({
      name: NAME,
      help: METRICS[NAME].meaning,
      type: 'histogram',
      aggregator: METRICS[NAME].aggregator,
      values: all.flatMap(toValues),
    }),
  }

  function findSeries(route: string | null, method: string, status: number | null): Series {
    return byRoute.get(route)?.get(method)?.get(status) ?? createSeries(route, method, status)
  }

  function createSeries(route: string | null, method: string, status: number | null): Series {
    const labels = {
      http_request_method: method,
      http_route: route ?? UNMATCHED,
      http_response_status_code: status === null ? '' : String(status),
    }
    const series = { labels, counts: new Float64Array(REQUEST_BOUNDS.length + 1), sum: 0 }
    const byMethod = byRoute.get(route) ?? new Map<string, Map<number | null, Series>>()
    const byStatus = byMethod.get(method) ?? new Map<number | null, Series>()
    byRoute.set(route, byMethod.set(method, byStatus.set(status, series)))
    all.push(series)
    return series
  }
}

function toValues({ labels, counts, sum }: Series): readonly MetricValue[] {
  let count = 0
  const buckets = [...counts].map((own, at) => {
    count += own
    return {
      metricName: `${NAME}_bucket`,
      labels: { le: REQUEST_BOUNDS[at] ?? '+Inf', ...labels },
      value: count,
    }
  })
  return [
    ...buckets,
    { metricName: `${NAME}_sum`, labels, value: sum },
    { metricName: `${NAME}_count`, labels, value: count },
  ]
}
