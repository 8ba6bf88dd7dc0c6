import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../ports/log.ts'

/** Something that grows until what is old is removed. */
export interface Prunable {
  /** As the log speaks of it. */
  readonly name: string
  /** Removes at most `limit`; answers how many, or null while another instance is at it. */
  prune(limit: number, timeoutMs: number): Promise<number | null>
}

/** When it is pruned, in milliseconds. */
export interface PruningTimes {
  /** Between the start and the first round, and as much again by chance: instances start together. */
  readonly firstMs: number
  readonly everyMs: number
  /** Between two steps of a round, for whoever else needs the database. */
  readonly pauseMs: number
}

/** What a service keeps to. */
export const PRUNING_TIMES: PruningTimes = { firstMs: 180_000, everyMs: 3_600_000, pauseMs: 100 }

/** How many are removed in one step. */
export const PRUNE_BATCH_SIZE = 1000

const STEP_WAIT_MS = 1000

/** A job of the service, until it is stopped. */
export interface Pruning {
  /** Resolves when the step that was under way has ended. */
  stop(): Promise<void>
}

/** Prunes in rounds of small steps. What fails is logged once, and tried again in the next round. */
export function startPruning(
  prunables: readonly Prunable[],
  { firstMs, everyMs, pauseMs }: PruningTimes,
  clock: Clock,
  log: Log,
): Pruning {
  const failing = new Set<string>()
  let isOver = false
  let round = Promise.resolve()
  let hurry = clock.after(firstMs * (1 + Math.random()), begin)

  return {
    stop() {
      isOver = true
      hurry()
      return round
    },
  }

  function begin(): void {
    round = pruneAll().then(() => {
      if (!isOver) hurry = clock.after(everyMs, begin)
    })
  }

  async function pruneAll(): Promise<void> {
    for (const prunable of prunables) {
      try {
        await pruneWhole(prunable)
        failing.delete(prunable.name)
      } catch (error) {
        if (!failing.has(prunable.name))
          log.warn('pruning.failed', {
            detail: prunable.name,
            error: (error as Error).name,
          })
        failing.add(prunable.name)
      }
    }
  }

  async function pruneWhole({ prune }: Prunable): Promise<void> {
    while (!isOver && (await prune(PRUNE_BATCH_SIZE, STEP_WAIT_MS)) === PRUNE_BATCH_SIZE) {
      await new Promise<void>((resolve) => {
        const callOff = clock.after(pauseMs, resolve)
        hurry = () => {
          callOff()
          resolve()
        }
        if (isOver) hurry()
      })
    }
  }
}
