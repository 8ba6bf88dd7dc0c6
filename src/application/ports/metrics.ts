/** A metric and all its values. */
export interface MetricFamily {
  /** In snake case, with its unit, such as `latchkey_logins_total`. */
  readonly name: string
  /** What the metric counts or measures, in one line. */
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  /** How the values of several processes are aggregated. */
  readonly aggregator: 'sum' | 'first' | 'min' | 'max' | 'average' | 'omit'
  /** A histogram has one value for each bucket, and the sum and the count. */
  readonly values: readonly MetricValue[]
}

/** A value with its labels. */
export interface MetricValue {
  /** The name of a histogram's bucket, sum or count; without it, the name of the family. */
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  /** In the base unit of the name: seconds, bytes, or a number of things. */
  readonly value: number
}

/** The connections of a pool. */
export interface PoolConnections {
  readonly used: number
  readonly idle: number
  readonly max: number
  /** The number of requests that wait for a connection. */
  readonly pending: number
}

/** The load of a password hasher: the number of passwords that are being hashed, and that wait for a thread. */
export interface HashingLoad {
  readonly running: number
  readonly waiting: number
}

/** Reads every metric of all processes that serve together. One that does not respond counts with its last values. */
export type CollectMetrics = () => Promise<readonly MetricFamily[]>
