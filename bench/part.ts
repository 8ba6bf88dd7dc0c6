import type { Bar } from './chart.ts'

/** One part of the benchmark: what `--only` names. */
export interface Part {
  readonly id: string
  readonly title: string
  /** Whether a quick run leaves it out, unless it is named. */
  readonly isLong?: boolean
  run(bench: Bench): Promise<Findings>
}

/** What every part works with. */
export interface Bench {
  /** Ends in minutes: fewer and shorter rounds. */
  readonly quick: boolean
  /** A folder of this run's own, which is removed afterwards. */
  readonly folder: string
  /** Shown while it runs, so that nobody wonders. */
  progress(text: string): void
}

/** What a part has measured. */
export interface Findings {
  /** What is looked at in a few words, below the title. */
  readonly about: string
  readonly tables: readonly Table[]
  readonly goals: readonly Goal[]
  /** What the document shows as a picture, too. */
  readonly chart?: { readonly title: string; readonly unit: string; readonly bars: readonly Bar[] }
}

export interface Table {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** A figure that was aimed at, beside the one that was measured. */
export interface Goal {
  readonly id: string
  readonly what: string
  readonly goal: string
  readonly measured: string
  readonly isReached: boolean
  /** Whether it is so far off that something must have broken: a quick run ends with 1 then. */
  readonly isBroken?: boolean
}

/** The value in the middle of some measurements, and what they spread over. */
export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const at = (index: number) => sorted[index] ?? Number.NaN
  return {
    median: sorted.length % 2 === 1 ? at(Math.floor(middle)) : (at(middle - 1) + at(middle)) / 2,
    least: at(0),
    most: at(sorted.length - 1),
  }
}

/** A median with what it spread over, as the tables show it. */
export function shownSpread(values: readonly number[], digits = 0): string {
  const { median, least, most } = spreadOf(values)
  return `${grouped(median, digits)} (${grouped(least, digits)}–${grouped(most, digits)})`
}

export function grouped(value: number, digits = 0): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** Whether the round runs its candidates backwards, so that none gains by always coming after the same one. */
export function inOrder<T>(candidates: readonly T[], round: number): readonly T[] {
  return round % 2 === 0 ? candidates : candidates.toReversed()
}
