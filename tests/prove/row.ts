/** A row of the reliability plan: a promise, tried as often as its size says. */
export interface Row {
  readonly id: string
  readonly promise: string
  /** Trials, or whatever the row's promise counts, for each size of a run. */
  readonly sizes: Readonly<Record<Size, number>> & {
    /** What finds its mutants out, where that needs less than CI's size. */
    readonly mutant?: number
  }
  /** Whether it runs when no other row does: a service that is late for want of a processor would count as a failure. */
  readonly alone?: boolean
  /** The naive forms that the row must find out, each a change of one place of the source. */
  readonly mutants: readonly Mutant[]
  run(trial: Trial): Promise<void>
}

/** `ci` ends in minutes; `release` has the numbers of the plan. */
export type Size = 'ci' | 'release'

/** The trials of a row; a mutant gets those of CI at most: what needs more would not be found out there. */
export function trialsOf({ sizes }: Row, size: Size | 'mutant'): number {
  return size === 'mutant' ? (sizes.mutant ?? sizes.ci) : sizes[size]
}

/** One guard taken away: `find` stands exactly once in `file`. */
export interface Mutant extends Change {
  readonly name: string
  readonly file: string
  /** Another place of the file, where one is not enough. */
  readonly and?: Change
}

interface Change {
  readonly find: string
  readonly replace: string
}

/** Counts what was tried and what went wrong. */
export interface Trial {
  readonly size: number
  /** Whether measured times decide: on a machine that has other things to do, they must not. */
  readonly judgesTimes: boolean
  /** A folder of the row's own, which every account may enter; the runner clears it. */
  readonly folder: string
  /** A folder that all rows of a run share. */
  readonly sharedFolder: string
  /** One thing tried; `otherwise` tells what was seen when it did not hold. */
  expect(holds: boolean, otherwise: () => string): void
  /** Something that has to hold beside what the row tries: it counts only where it does not. */
  require(holds: boolean, otherwise: () => string): void
  /** Something that was measured, for the table; it decides nothing. */
  note(text: string): void
}

/** What came of a row, as the runner reads it from the row's process. */
export interface Outcome {
  readonly trials: number
  readonly failures: number
  /** The first few. */
  readonly examples: readonly string[]
  readonly notes: readonly string[]
  /** Why nothing was tried. */
  readonly skipped?: string
}

/** Ends a row that cannot be tried here; the table says so. */
export class Skipped extends Error {}
