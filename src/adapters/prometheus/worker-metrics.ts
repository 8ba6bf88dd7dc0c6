import { AggregatorRegistry } from 'prom-client'
import { type MetricFamily, metricFamilies } from './metric-families.ts'

type Families = readonly MetricFamily[]

/**
 * Puts the metrics of several workers together, by their numbers. A worker that gave no answer counts as it did last; of
 * one that is gone the counts stay, since a sum that falls looks like a new start, and all of it like new requests.
 */
export function workerMetrics(): (answers: ReadonlyMap<number, Families | undefined>) => Promise<Families> {
  const latest = new Map<number, Families>()
  let gone: Families = []

  return async function together(answers) {
    for (const [worker, families] of answers) if (families !== undefined) latest.set(worker, families)
    for (const [worker, families] of [...latest]) {
      if (answers.has(worker)) continue
      latest.delete(worker)
      gone = await aggregated([gone, families.filter(({ type }) => type !== 'gauge')])
    }
    return aggregated([...latest.values(), gone])
  }
}

function aggregated(all: readonly Families[]): Promise<Families> {
  return metricFamilies(AggregatorRegistry.aggregate(all as never))
}
