import type { Chance } from './chance.ts'
import type { Parts } from './parts.ts'
import type { ClusterTally } from './tally.ts'
import type { Timeline } from './timeline.ts'

/** What is so from the beginning of a run to its end. */
export interface Setting {
  readonly instances: number
  /** How long the instances have been up before the first step. */
  readonly warmMs: number
  /** What else happens to clocks: a machine sleeps when it pauses, or the wall clock is set. Not both in one run. */
  readonly clocks: 'steady' | 'asleep' | 'set'
  /** All faults end after the last step, and the cluster has to come back to normal. */
  readonly heals: boolean
  readonly chance: number
}

/** One run, as everything that takes part in it sees it. */
export interface Run {
  readonly parts: Parts
  readonly setting: Setting
  readonly time: Timeline
  readonly chance: Chance
  readonly tally: ClusterTally
}

/** The true time at the beginning of a run. */
export const START_MS = 1_700_000_000_000
