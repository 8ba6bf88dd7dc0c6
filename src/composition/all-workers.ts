import { respondToPrimary } from '../adapters/node-cluster/worker.ts'
import type { CombineResponses } from '../adapters/node-cluster/worker-questions.ts'
import { mergeEvents, type OpsEvent } from '../adapters/ops/events.ts'
import { workerMetrics } from '../adapters/prometheus/worker-metrics.ts'
import type { CollectMetrics, MetricFamily } from '../application/ports/metrics.ts'

/** What a process has measured and marked. */
export interface OwnRecords {
  readonly collect: CollectMetrics
  /** The marked events, oldest first. */
  readonly events: () => readonly OpsEvent[]
}

/** What all workers of an instance and their primary have measured and marked. */
export interface AllRecords {
  readonly collect: CollectMetrics
  readonly events: () => Promise<readonly OpsEvent[]>
}

/** Reads the records of all workers, this one included, through the primary. */
export function askAllWorkers({ collect, events }: OwnRecords): AllRecords {
  const ask = respondToPrimary(async (question) => (question === 'events' ? events() : collect()))
  return {
    collect: async () => (await ask('metrics')) as readonly MetricFamily[],
    events: async () => (await ask('events')) as readonly OpsEvent[],
  }
}

/** Returns a function with which the primary adds its own records to those of its workers. */
export function combineRecords({ collect, events }: OwnRecords): CombineResponses {
  const combineMetrics = workerMetrics(collect)
  return async (question, responses) => {
    if (question !== 'events') return combineMetrics(responses as Parameters<typeof combineMetrics>[0])
    const lists = [...responses.values()].filter((list) => list !== undefined)
    return mergeEvents([events(), ...(lists as (readonly OpsEvent[])[])])
  }
}
