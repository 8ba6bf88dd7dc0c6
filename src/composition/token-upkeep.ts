import type { Configuration } from '../application/configuration.ts'
import { PRUNING_TIMES, type Pruning, type PruningTimes, startPruning } from '../application/jobs/pruning.ts'
import { createUsageBuffer, type UsageBuffer } from '../application/login-tokens/usage-buffer.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import type { Log } from '../application/ports/log.ts'
import type { Ports } from '../application/ports/ports.ts'
import type { TokenUsage } from '../application/ports/token-usage.ts'

/** Returns the recorder of last uses: the custom one, else the buffer, which does nothing when `TOKEN_LAST_USED` is off. */
export function openTokenUsage({
  configuration: { tokenLastUsed },
  ports: { loginTokens, clock },
  custom,
  log,
}: {
  readonly configuration: Configuration
  readonly ports: Pick<Ports, 'loginTokens' | 'clock'>
  readonly custom: TokenUsage | undefined
  readonly log: Log
}): UsageBuffer {
  if (custom === undefined && tokenLastUsed) return createUsageBuffer(loginTokens, clock, log)
  return { used: (tokenId) => custom?.used(tokenId), close: async () => {} }
}

/** Starts to delete ended tokens after `TOKEN_RETENTION`, and what the database prunes besides them. */
export function startTokenPruning({
  configuration: { tokenRetentionMs },
  ports: { loginTokens, clock },
  database: { prunables = [] },
  log,
  times = PRUNING_TIMES,
}: {
  readonly configuration: Configuration
  readonly ports: Pick<Ports, 'loginTokens' | 'clock'>
  readonly database: OpenDatabase
  readonly log: Log
  readonly times?: PruningTimes | undefined
}): Pruning {
  const tokens = {
    name: 'login_tokens',
    prune: (limit: number, timeoutMs: number) =>
      loginTokens.prune(clock.nowMs() - tokenRetentionMs, limit, timeoutMs),
  }
  return startPruning([tokens, ...prunables], times, clock, log)
}
