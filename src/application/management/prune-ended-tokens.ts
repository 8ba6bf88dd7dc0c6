import { Unavailable } from '../../domain/errors.ts'
import { wait } from '../../lib/wait.ts'
import type { Deadline } from '../deadline.ts'
import { PRUNE_BATCH_SIZE } from '../jobs/pruning.ts'
import type { Ports } from '../ports/ports.ts'

const MAX_TRIES = 100
const PAUSE_MS = 100

/**
 * Deletes the tokens that ended before `endedBeforeMs`, in steps that each have their own deadline; returns their number.
 * Waits while another process prunes, and throws `Unavailable` when that takes too long.
 */
export async function pruneEndedTokens(
  { loginTokens, clock }: Pick<Ports, 'loginTokens' | 'clock'>,
  endedBeforeMs: number,
  deadline: () => Deadline,
): Promise<number> {
  let pruned = 0
  for (let tries = 0; tries < MAX_TRIES; ) {
    const count = await deadline().run((timeoutMs) =>
      loginTokens.prune(endedBeforeMs, PRUNE_BATCH_SIZE, timeoutMs),
    )
    pruned += count ?? 0
    if (count !== null && count < PRUNE_BATCH_SIZE) return pruned
    if (count !== null) continue
    tries++
    await wait(PAUSE_MS, clock, null)
  }
  throw new Unavailable({ cause: new Error('Another process is still pruning.') })
}
