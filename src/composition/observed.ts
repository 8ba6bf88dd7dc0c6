import { openTelemetryTracing, type Tracing } from '../adapters/opentelemetry/tracing.ts'
import { untracedClock } from '../adapters/opentelemetry/untraced.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import { type Ops, openOps } from './ops.ts'
import type { ServiceOptions } from './service-options.ts'

/** A service's options, with what observes it. */
interface Observed<Options> {
  readonly options: Options
  /** Null without an SDK of OpenTelemetry. */
  readonly tracing: Tracing | null
  /** The data of the operator's page; null when `OPS` is off. */
  readonly ops: Ops | null
}

/** Returns the options with a log that the operator's page follows, and with timers that belong to no request's trace. */
export function observed<Options extends ServiceOptions>(given: Options): Observed<Options> {
  const { configuration, version, log, samplingTimes: times, adapters = {} } = given
  const { clock = systemClock } = adapters
  const tracing = openTelemetryTracing(version)
  const ops = openOps({ configuration, version, clock, log, times })
  const options = {
    ...given,
    log: ops?.log ?? log,
    // Such as the timer that writes the uses of tokens.
    ...(tracing !== null && { adapters: { ...adapters, clock: untracedClock(clock) } }),
  }
  return { options, tracing, ops }
}
