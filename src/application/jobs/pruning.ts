import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../ports/log.ts'

/** Rows that grow without limit unless old ones are pruned. */
export interface Prunable {
  /** Its name in the log. */
  readonly name: string
  /** Removes at most `limit` rows; returns the number removed, or null while another instance prunes. */
  prune(limit: number, timeoutMs: number): Promise<number | null>
}

/** The schedule of pruning, in milliseconds. */
export interface PruningTimes {
  /** The delay before the first round. A jitter of up to the same time is added, because instances start together. */
  readonly firstMs: number
  /** The pause between two rounds. */
  readonly everyMs: number
  /** The pause between two steps of a round, in which others can use the database. */
  readonly pauseMs: number
}

/** The schedule in production. */
export const PRUNING_TIMES: PruningTimes = { firstMs: 180_000, everyMs: 3_600_000, pauseMs: 100 }

/** The number of rows that one step removes at most. */
export const PRUNE_BATCH_SIZE = 1000

const STEP_TIMEOUT_MS = 1000

/** A running pruning job. */
export interface Pruning {
  /** Stops the job. Resolves when the current step has ended. */
  stop(): Promise<void>
}

/** Prunes in rounds of small steps. A failure is logged once, and the next round tries again. */
export function startPruning(
  prunables: readonly Prunable[],
  { firstMs, everyMs, pauseMs }: PruningTimes,
  clock: Clock,
  log: Log,
): Pruning {
  const failing = new Set<string>()
  let isStopped = false
  let round = Promise.resolve()
  /** Ends the present pause: cancels its timer, and lets a running round see that it is stopped. */
  let endPause = clock.after(firstMs * (1 + Math.random()), begin)

  return {
    stop() {
      isStopped = true
      endPause()
      return round
    },
  }

  function begin(): void {
    round = pruneAll().then(() => {
      if (!isStopped) endPause = clock.after(everyMs, begin)
    })
  }

  async function pruneAll(): Promise<void> {
    for (const prunable of prunables) {
      try {
        await pruneCompletely(prunable)
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

  async function pruneCompletely(prunable: Prunable): Promise<void> {
    while (!isStopped && (await prunable.prune(PRUNE_BATCH_SIZE, STEP_TIMEOUT_MS)) === PRUNE_BATCH_SIZE) {
      await new Promise<void>((resolve) => {
        const cancel = clock.after(pauseMs, resolve)
        endPause = () => {
          cancel()
          resolve()
        }
        if (isStopped) endPause()
      })
    }
  }
}
