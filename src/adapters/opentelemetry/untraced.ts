import { context, createContextKey } from '@opentelemetry/api'
import type { Clock } from '../../lib/clock.ts'

/** The key by which instrumentations know that they create no span. It is that of `suppressTracing` in the SDK. */
const SUPPRESSED = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING')

/** Runs `act` without spans: what it calls, and the timers and connections that it starts, belong to no request. */
export function untraced<T>(act: () => T): T {
  return context.with(context.active().setValue(SUPPRESSED, true), act)
}

/**
 * Returns a clock whose timers are untraced, such as those that write the uses of tokens. Without it they would belong to
 * the trace of the request that has set them.
 */
export function untracedClock(clock: Clock): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (ms, act) => clock.after(ms, () => untraced(act)),
  }
}
