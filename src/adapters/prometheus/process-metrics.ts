import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { metricOptions } from './definitions.ts'

/** Delays that are reset by every reading, and totals that are not counters. */
const LEFT_OUT = /^nodejs_(eventloop_lag|active_\w+_total)/

const RESOLUTION_MS = 10
/** A fixed window, so that every reader sees the same values, however often the metrics are read. */
const WINDOW_MS = 10_000

/** The event loop delays, in nanoseconds. */
const DELAYS = {
  nodejs_eventloop_delay_p50_seconds: (delays: IntervalHistogram) => delays.percentile(50),
  nodejs_eventloop_delay_p90_seconds: (delays: IntervalHistogram) => delays.percentile(90),
  nodejs_eventloop_delay_p99_seconds: (delays: IntervalHistogram) => delays.percentile(99),
  nodejs_eventloop_delay_max_seconds: (delays: IntervalHistogram) => delays.max,
} as const
type DelayName = keyof typeof DELAYS

let created: Registry | null = null

/** Returns the metrics of the process, which are measured from the first call on. */
export function processMetrics(): Registry {
  created ??= registerProcessMetrics(new Registry())
  return created
}

function registerProcessMetrics(register: Registry): Registry {
  collectDefaultMetrics({ register })
  for (const { name } of register.getMetricsAsArray()) {
    if (LEFT_OUT.test(name)) register.removeSingleMetric(name)
  }
  const seconds = eventLoopDelays()
  for (const name of Object.keys(DELAYS) as DelayName[]) {
    new Gauge({
      ...metricOptions(name),
      registers: [register],
      collect() {
        this.set(seconds(name))
      },
    })
  }
  return register
}

/** Returns a function that reads a delay, in seconds, of the last complete window, or of the first one so far. */
function eventLoopDelays(): (name: DelayName) => number {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  // The histogram measures the time between two ticks; only what exceeds the resolution is a delay.
  const read = (name: DelayName) => Math.max(0, DELAYS[name](delays) / 1e9 - RESOLUTION_MS / 1000)
  let last: ReadonlyMap<DelayName, number> | null = null
  setInterval(() => {
    last = new Map((Object.keys(DELAYS) as DelayName[]).map((name) => [name, read(name)]))
    delays.reset()
  }, WINDOW_MS).unref()
  return (name) => last?.get(name) ?? read(name)
}
