import type { MetricFamily, MetricValue } from '../../application/ports/metrics.ts'

/** The part of a family that a reading uses. */
export type ReadableFamily = Pick<MetricFamily, 'name' | 'values'>

export type Labels = MetricValue['labels']

/** The values measured at one time, by metric name. */
export type Reading = ReadonlyMap<string, readonly MetricValue[]>

/** Returns the values of the families by metric name; buckets, sum and count of a histogram have separate names. */
export function readMetrics(families: readonly ReadableFamily[]): Reading {
  const reading = new Map<string, MetricValue[]>()
  for (const { name: familyName, values } of families) {
    for (const { metricName: name = familyName, labels, value } of values) {
      // Copied, because the registry may continue to count in the objects that it returned.
      const own = { labels, value }
      const others = reading.get(name)
      if (others === undefined) reading.set(name, [own])
      else others.push(own)
    }
  }
  return reading
}

/** Computes one number from the current reading and the one `seconds` earlier; NaN if there is no value. */
export type Column = (now: Reading, before: Reading, seconds: number) => number

/** Selects values by their labels. */
export type Matches = (labels: Labels) => boolean

const all: Matches = () => true

/** The current value of a gauge. */
export function level(name: string, matches = all): Column {
  return (now) => sum(now, name, matches) ?? Number.NaN
}

/** The lowest ratio of two gauges with the same labels. */
export function ratio(name: string, ofName: string): Column {
  return (now) => {
    const whole = now.get(ofName) ?? []
    const shares = (now.get(name) ?? []).map(({ labels, value }) => {
      const of = whole.find((other) => isSame(other.labels, labels))
      return of === undefined ? Number.NaN : value / of.value
    })
    return shares.length === 0 ? Number.NaN : Math.min(...shares)
  }
}

/** The increase of a counter per second; 0 for a counter that does not exist yet. */
export function rate(name: string, matches = all): Column {
  return (now, before, seconds) => {
    const growth = (sum(now, name, matches) ?? 0) - (sum(before, name, matches) ?? 0)
    // A process that ended takes its counts with it, so the sum may fall.
    return Math.max(0, growth) / seconds
  }
}

/** The share of a histogram's observations above a bound of its buckets since the previous reading; NaN without any. */
export function shareAbove(bound: string, name: string, matches = all): Column {
  const count = rate(`${name}_count`, matches)
  const within = rate(`${name}_bucket`, (labels) => labels.le === bound && matches(labels))
  return (now, before, seconds) => 1 - within(now, before, seconds) / count(now, before, seconds)
}

/** The quantile of a histogram's observations since the previous reading, interpolated linearly within a bucket. */
export function quantile(fraction: number, name: string, matches = all): Column {
  return (now, before) => {
    const counts = new Map<number, number>()
    add(counts, now, 1)
    add(counts, before, -1)
    const buckets = [...counts].sort(([a], [b]) => a - b)
    const rank = fraction * (buckets.at(-1)?.[1] ?? 0)
    let [from, below] = [0, 0]
    for (const [bound, upTo] of buckets) {
      if (rank > 0 && upTo >= rank) {
        return bound === Infinity ? from : from + ((bound - from) * (rank - below)) / (upTo - below)
      }
      ;[from, below] = [bound, upTo]
    }
    return Number.NaN
  }

  function add(counts: Map<number, number>, reading: Reading, sign: number): void {
    for (const { labels, value } of reading.get(`${name}_bucket`) ?? []) {
      if (!matches(labels)) continue
      const bound = labels.le === '+Inf' ? Infinity : Number(labels.le)
      counts.set(bound, (counts.get(bound) ?? 0) + sign * value)
    }
  }
}

function sum(reading: Reading, name: string, matches: Matches): number | null {
  let total: number | null = null
  for (const { labels, value } of reading.get(name) ?? []) {
    if (matches(labels)) total = (total ?? 0) + value
  }
  return total
}

function isSame(some: Labels, others: Labels): boolean {
  return Object.entries(some).every(([name, value]) => others[name] === value)
}
