import type { Goal } from './part.ts'
import { format, formatEstimate, median } from './statistics.ts'

/** The figures of one measurement; null where the system does not report one. */
export type Figures = { readonly [metric: string]: number | null }

/** The figures of all rounds, by candidate. */
export class Samples {
  readonly #figures = new Map<string, Figures[]>()

  add(candidate: string, figures: Figures): void {
    this.#figures.set(candidate, [...(this.#figures.get(candidate) ?? []), figures])
  }

  candidates(): readonly string[] {
    return [...this.#figures.keys()]
  }

  /** Returns the metric of a candidate, a number for each round that measured it. */
  values(candidate: string, metric: string): readonly number[] {
    const values = (this.#figures.get(candidate) ?? []).map((figures) => figures[metric] ?? Number.NaN)
    return values.filter((value) => !Number.isNaN(value))
  }

  /** Returns the metric as a multiple of that of another candidate in the same round. */
  ratios(candidate: string, to: string, metric = 'perSecond'): readonly number[] {
    const others = this.values(to, metric)
    return this.values(candidate, metric).map((value, round) => value / (others[round] ?? Number.NaN))
  }

  show(candidate: string, metric: string, digits = 0): string {
    return formatEstimate(this.values(candidate, metric), digits)
  }
}

/** Returns a goal that the median of the values must reach. */
export function goal(
  { id, what }: Pick<Goal, 'id' | 'what'>,
  values: readonly number[],
  target: { readonly min?: number; readonly max?: number; readonly digits?: number },
): Goal {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, digits = 2 } = target
  const measured = median(values)
  const shownTarget = target.min === undefined ? `≤ ${format(max, digits)}` : `≥ ${format(min, digits)}`
  return {
    id,
    what,
    target: shownTarget,
    measured: formatEstimate(values, digits),
    isMet: measured >= min && measured <= max,
  }
}
