/** A metric with its values, as whoever measures hands it over. */
export interface Family {
  readonly name: string
  readonly values: readonly Value[]
}

/** A value under its labels; of a histogram a bucket, the sum or the count, by `metricName`. */
export interface Value {
  readonly metricName?: string
  readonly labels: Labels
  readonly value: number
}

export type Labels = Readonly<Record<string, string | number>>

/** What was measured at one moment, by name. */
export type Reading = ReadonlyMap<string, readonly Value[]>

/** The values of the families by their own names, those of a histogram apart. */
export function readMetrics(families: readonly Family[]): Reading {
  const reading = new Map<string, Value[]>()
  for (const { name: familyName, values } of families) {
    for (const { metricName: name = familyName, labels, value } of values) {
      // A copy: whoever counts may go on to count in the values that it handed over.
      const own = { labels, value }
      const others = reading.get(name)
      if (others === undefined) reading.set(name, [own])
      else others.push(own)
    }
  }
  return reading
}

/** One number made of what was read now and of what was read before, so many seconds earlier; NaN for none. */
export type Column = (now: Reading, before: Reading, seconds: number) => number

/** Which values of a name are meant. */
export type Matches = (labels: Labels) => boolean

const all: Matches = () => true

/** What a gauge says now. */
export function level(name: string, matches = all): Column {
  return (now) => sum(now, name, matches) ?? Number.NaN
}

/** What a counter grew by in a second; 0 for one that has not begun. */
export function rate(name: string, matches = all): Column {
  return (now, before, seconds) => {
    const growth = (sum(now, name, matches) ?? 0) - (sum(before, name, matches) ?? 0)
    // What a process had counted goes with it.
    return Math.max(0, growth) / seconds
  }
}

/** The value that a share of what a histogram saw since then lies below, straight lines drawn within its buckets. */
export function quantile(share: number, name: string, matches = all): Column {
  return (now, before) => {
    const counts = new Map<number, number>()
    add(counts, now, 1)
    add(counts, before, -1)
    const buckets = [...counts].sort(([a], [b]) => a - b)
    const rank = share * (buckets.at(-1)?.[1] ?? 0)
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
