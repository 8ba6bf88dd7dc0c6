import type { Bar } from './chart.ts'
import type { Samples } from './samples.ts'

/** One part of the benchmark, which `--only` selects. */
export interface Part {
  readonly id: string
  readonly title: string
  /** Whether it runs only when `--only` names it. */
  readonly isOnDemand?: boolean
  /** Whether a quick run skips it unless `--only` names it. */
  readonly isLong?: boolean
  /** Default: the number of rounds of the run. */
  readonly rounds?: number
  /** Prepares the data that all rounds share. */
  open(bench: Bench): Promise<Experiment>
}

/** A prepared part. */
export interface Experiment {
  /** A description of the measurement for the report. */
  readonly about: string
  /** Measures every candidate once, in fresh processes, on one version of Node. Odd rounds run in reverse order. */
  round(context: Round): Promise<void>
  /** Summarizes the samples of one version of Node. */
  report(samples: Samples): Findings
  close(): Promise<void>
}

/** The context of one round. */
export interface Round {
  readonly number: number
  readonly node: NodeVersion
  readonly samples: Samples
}

/** A version of Node that runs the servers. The load generators run on the version that runs the benchmark. */
export interface NodeVersion {
  readonly path: string
  readonly version: string
}

/** The resources of a run. */
export interface Bench {
  /** Few and short rounds, which detect failures; no report is written. */
  readonly isQuick: boolean
  readonly rounds: number
  /** The duration of the soak part in minutes. */
  readonly soakMinutes: number
  /** A temporary folder, removed at the end. */
  readonly folder: string
  /** Aborted when the run is interrupted. */
  readonly signal: AbortSignal
  /** Shows the current step. Throws when the run was interrupted. */
  progress(text: string): void
}

export interface Findings {
  readonly tables: readonly Table[]
  readonly goals: readonly Goal[]
  readonly bars?: readonly Bar[]
}

export interface Table {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** A target with its measured figure. */
export interface Goal {
  readonly id: string
  readonly what: string
  readonly target: string
  readonly measured: string
  readonly isMet: boolean
  /** Whether the figure is so bad that something must be broken. A quick run then exits with 1. */
  readonly isBroken?: boolean
}

/** Returns the items in alternating order, so that none always runs after the same one. */
export function inOrder<T>(items: readonly T[], round: number): readonly T[] {
  return round % 2 === 0 ? items : items.toReversed()
}
