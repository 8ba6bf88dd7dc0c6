import type { Log } from '../../application/ports/log.ts'
import type { Samples } from './samples.ts'

/** Takes a sample now and every `everyMs`, one at a time, without keeping the process alive. Returns a stop function. */
export function startSampling(samples: Samples, everyMs: number, log: Log): () => void {
  let isTaking = false
  let isFailing = false
  void take()
  const timer = setInterval(take, everyMs).unref()
  return () => clearInterval(timer)

  async function take(): Promise<void> {
    if (isTaking) return
    isTaking = true
    try {
      await samples.take()
      isFailing = false
    } catch (error) {
      // The charts have a gap; only the first of several failures is logged.
      if (!isFailing) log.warn('ops.sampling_failed', { error: (error as Error).name })
      isFailing = true
    } finally {
      isTaking = false
    }
  }
}
