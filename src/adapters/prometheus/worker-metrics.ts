import { AggregatorRegistry } from 'prom-client'
import type { CollectMetrics, MetricFamily } from '../../application/ports/metrics.ts'
import { metricFamilies } from './metric-families.ts'

type Families = readonly MetricFamily[]

/**
 * Aggregates the metrics of several workers, by worker id, and those of their primary. A worker that did not respond counts with its last values. The
 * counters of a worker that ended stay in the sum: if a sum falls, Prometheus takes it for a restart and counts all of it
 * again.
 */
export function workerMetrics(
  primary: CollectMetrics = async () => [],
): (responses: ReadonlyMap<number, Families | undefined>) => Promise<Families> {
  const latest = new Map<number, Families>()
  let ended: Families = []

  return async function combine(responses) {
    for (const [worker, families] of responses) if (families !== undefined) latest.set(worker, families)
    for (const [worker, families] of [...latest]) {
      if (responses.has(worker)) continue
      latest.delete(worker)
      ended = await aggregate([ended, families.filter(({ type }) => type !== 'gauge')])
    }
    // First, because the first of a name decides how its values are aggregated.
    return aggregate([await primary(), ...latest.values(), ended])
  }
}

function aggregate(all: readonly Families[]): Promise<Families> {
  return metricFamilies(AggregatorRegistry.aggregate(all as never))
}
