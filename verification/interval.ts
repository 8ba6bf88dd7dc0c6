/** A median and its confidence interval of 95 %. */
export interface Interval {
  readonly median: number
  readonly low: number
  readonly high: number
}

/** Returns the median with the interval of the sign test, which assumes no distribution. */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = values.toSorted((a, b) => a - b)
  const { length } = sorted
  const at = (index: number) => sorted[Math.max(0, Math.min(length - 1, index))] ?? Number.NaN
  // The number of values below the true median is binomially distributed.
  const outside = Math.floor((length + 1) / 2 - 0.98 * Math.sqrt(length))
  return {
    median: (at(Math.ceil(length / 2) - 1) + at(Math.floor(length / 2))) / 2,
    low: at(outside - 1),
    high: at(length - outside),
  }
}
