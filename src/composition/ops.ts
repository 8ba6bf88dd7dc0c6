import { hostname } from 'node:os'
import type { OpsSource } from '../adapters/http/ops-page/routes.ts'
import { createSamples, SAMPLING_TIMES, type SamplingTimes } from '../adapters/ops/samples.ts'
import { startSampling } from '../adapters/ops/sampling.ts'
import type { Configuration } from '../application/configuration.ts'
import type { Log } from '../application/ports/log.ts'
import type { CollectMetrics } from '../application/ports/metrics.ts'
import type { Clock } from '../lib/clock.ts'

/** The data of the operator's page about this process. */
export interface Ops extends OpsSource {
  /** Starts sampling. Returns a function that stops it. */
  start(log: Log): () => void
}

/** Returns null when `OPS` is off: then nothing is sampled or stored. */
export function openOps({
  configuration,
  version,
  clock,
  collect,
  times = SAMPLING_TIMES,
}: {
  readonly configuration: Configuration
  readonly version: string
  readonly clock: Clock
  readonly collect: CollectMetrics
  readonly times?: SamplingTimes | undefined
}): Ops | null {
  if (!configuration.ops) return null
  const samples = createSamples({ collect, clock, keep: times.keep })
  return {
    live: () => ({
      instance: `${hostname()}:${process.pid}`,
      version: configuration.appVersion ?? version,
      every_ms: times.everyMs,
      keep: times.keep,
      samples: samples.table(),
    }),
    nowMs: () => clock.nowMs(),
    publicUrl: configuration.publicUrl,
    start: (log) => startSampling(samples, times.everyMs, log),
  }
}
