/** The median of a sample with its confidence interval. */
export interface Estimate {
  readonly median: number
  readonly low: number
  readonly high: number
}

const CONFIDENCE = 0.95

/**
 * Returns the median and its 95 % interval by order statistics, which assume no distribution: the narrowest symmetric pair of
 * sorted values that contains the true median with a probability of at least 95 %. Below six values, where no pair does,
 * the interval is the whole range.
 */
export function estimate(values: readonly number[]): Estimate {
  const sorted = values.toSorted((a, b) => a - b)
  const count = sorted.length
  const at = (index: number) => sorted[index] ?? Number.NaN
  let rank = 0
  // The probability that fewer than `rank + 1` of `count` values are below the median, from the binomial distribution.
  let tail = 0.5 ** count
  let term = tail
  while (rank < count / 2 - 1) {
    term *= (count - rank) / (rank + 1)
    if (2 * (tail + term) > 1 - CONFIDENCE) break
    tail += term
    rank++
  }
  return {
    median: (at(Math.floor((count - 1) / 2)) + at(Math.ceil((count - 1) / 2))) / 2,
    low: at(rank),
    high: at(count - 1 - rank),
  }
}

export function median(values: readonly number[]): number {
  return estimate(values).median
}

/** Returns the slope of the least-squares line through the points. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (index: 0 | 1) => points.reduce((sum, point) => sum + point[index], 0) / points.length
  const [meanX, meanY] = [mean(0), mean(1)]
  const sum = (term: (x: number, y: number) => number) =>
    points.reduce((total, [x, y]) => total + term(x - meanX, y - meanY), 0)
  return sum((x, y) => x * y) / sum((x) => x * x)
}

/** Formats a number with grouped digits; `–` for one that could not be measured. */
export function format(value: number, digits = 0): string {
  if (Number.isNaN(value)) return '–'
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** Formats the median with its interval. */
export function formatEstimate(values: readonly number[], digits = 0): string {
  const { median, low, high } = estimate(values)
  if (Number.isNaN(median)) return '–'
  return `${format(median, digits)} (${format(low, digits)}–${format(high, digits)})`
}
