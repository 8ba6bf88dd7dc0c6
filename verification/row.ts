/** A row of the reliability plan: a promise, tested as often as its size says. */
export interface Row {
  readonly id: string
  readonly promise: string
  /** The number of trials, or of whatever the promise counts, for each size of a run. */
  readonly sizes: Readonly<Record<Size, number>> & {
    /** The number that finds its mutants, if smaller than CI's. */
    readonly mutant?: number
  }
  /** Whether it runs alone. Otherwise a service that is late for lack of a processor would count as a failure. */
  readonly alone?: boolean
  /** The mutants that the row must find, each a change of one place of the source. */
  readonly mutants: readonly Mutant[]
  run(trial: Trial): Promise<void>
}

/** `ci` takes minutes; `release` has the numbers of the plan. */
export type Size = 'ci' | 'release'

/** Returns the number of trials of a row. A mutant gets at most those of CI. */
export function countTrials({ sizes }: Row, size: Size | 'mutant'): number {
  return size === 'mutant' ? (sizes.mutant ?? sizes.ci) : sizes[size]
}

/** A removed guard: `find` occurs exactly once in `file`. */
export interface Mutant extends Change {
  readonly name: string
  readonly file: string
  /** A second change in the file, when one is not enough. */
  readonly and?: Change
}

interface Change {
  readonly find: string
  readonly replace: string
}

/** Counts trials and failures. */
export interface Trial {
  readonly size: number
  /** Whether measured times may fail the row. They must not on a busy machine. */
  readonly judgesTimes: boolean
  /** A folder of this row that every user may enter. The runner clears it. */
  readonly folder: string
  /** A folder that all rows of a run share. */
  readonly sharedFolder: string
  /** Counts one trial. `otherwise` describes what was observed when it failed. */
  expect(holds: boolean, otherwise: () => string): void
  /** Checks a side condition, which is counted only when it fails. */
  require(holds: boolean, otherwise: () => string): void
  /** Notes a measurement for the table. It does not affect the outcome. */
  note(text: string): void
}

/** The outcome of a row, as the runner reads it from the row's process. */
export interface Outcome {
  readonly trials: number
  readonly failures: number
  /** The first few failures. */
  readonly examples: readonly string[]
  readonly notes: readonly string[]
  /** Why the row was skipped. */
  readonly skipped?: string
}

/** Thrown by a row that cannot run here. The table reports it. */
export class Skipped extends Error {}
