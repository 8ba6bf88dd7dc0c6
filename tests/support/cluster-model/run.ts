import type { Chance } from './chance.ts'
import type { Parts } from './parts.ts'
import type { ClusterTally } from './tally.ts'
import type { Timeline } from './timeline.ts'
import type { Version } from './versions.ts'

/** Conditions that stay the same through a run. */
export interface Setting {
  readonly instances: number
  /** How long the instances have run before the first step. */
  readonly warmMs: number
  /**
   * Clocks run at rates that differ by up to a tenth from real time. Besides, the monotonic clock stops when a machine
   * pauses, or the wall clock is set. Or all rates are right, and both clocks stop for a moment. Never two of these.
   */
  readonly clocks: 'steady' | 'asleep' | 'set' | 'standing'
  /** Whether some instances are of the version before or after. */
  readonly versions: 'same' | Version
  /** Whether all faults end after the last step, after which the instances must recover. */
  readonly heals: boolean
  readonly chance: number
}

/** One run, shared by all its parts. */
export interface Run {
  readonly parts: Parts
  readonly setting: Setting
  readonly time: Timeline
  readonly chance: Chance
  readonly tally: ClusterTally
}

/** The real time at the beginning of a run. */
export const START_MS = 1_700_000_000_000
