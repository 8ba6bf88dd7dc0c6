import type { Configuration } from '../application/configuration.ts'
import { idleSessions } from '../application/jobs/idle-sessions.ts'
import { PRUNING_TIMES, type Pruning, type PruningTimes, startPruning } from '../application/jobs/pruning.ts'
import { isSingleSession } from '../application/login/admit-login.ts'
import { type UndoingLoginTokens, undoUnknownLogins } from '../application/login-tokens/undoing.ts'
import {
  createUsageBuffer,
  DECISIVE_USES,
  INFORMATIVE_USES,
  type UsageBuffer,
} from '../application/login-tokens/usage-buffer.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import type { Log } from '../application/ports/log.ts'
import type { LoginTokens } from '../application/ports/login-tokens.ts'
import type { Ports } from '../application/ports/ports.ts'
import type { TokenUsage } from '../application/ports/token-usage.ts'
import type { Clock } from '../lib/clock.ts'

/** Returns the recorder of last uses: the custom one, else the buffer, which does nothing when `TOKEN_LAST_USED` is off. */
export function openTokenUsage({
  configuration: { tokenLastUsed, tokenIdleTtlMs },
  loginTokens,
  clock,
  custom,
  log,
}: {
  readonly configuration: Configuration
  readonly loginTokens: Pick<LoginTokens, 'touch'>
  readonly clock: Clock
  readonly custom: TokenUsage | undefined
  readonly log: Log
}): UsageBuffer {
  const policy = tokenIdleTtlMs === null ? INFORMATIVE_USES : DECISIVE_USES
  if (custom === undefined && tokenLastUsed) return createUsageBuffer(loginTokens, clock, log, policy)
  return {
    used: (tokenId) => custom?.used(tokenId),
    lastUseMs: (tokenId) => custom?.lastUseMs?.(tokenId) ?? null,
    close: async () => {},
  }
}

/**
 * Starts to revoke the tokens of logins whose outcome is unknown, where they would occupy a slot that another needs. `stored`
 * are the login tokens without invalidations.
 */
export function openUndoing(
  configuration: Configuration,
  { loginTokens, clock }: Pick<Ports, 'loginTokens' | 'clock'>,
  stored: LoginTokens,
): UndoingLoginTokens {
  if (isSingleSession(configuration)) return { loginTokens, close() {} }
  return undoUnknownLogins(loginTokens, stored, clock)
}

/** Starts to delete ended tokens after `TOKEN_RETENTION`, and what the database prunes besides them. */
export function startTokenPruning({
  configuration: { tokenRetentionMs, tokenIdleTtlMs },
  ports: { loginTokens, clock, audit },
  database: { prunables = [] },
  log,
  times = PRUNING_TIMES,
}: {
  readonly configuration: Configuration
  readonly ports: Pick<Ports, 'loginTokens' | 'clock' | 'audit'>
  readonly database: OpenDatabase
  readonly log: Log
  readonly times?: PruningTimes | undefined
}): Pruning {
  const tokens = {
    name: 'login_tokens',
    prune: (limit: number, timeoutMs: number) =>
      loginTokens.prune(clock.nowMs() - tokenRetentionMs, limit, timeoutMs),
  }
  const idle =
    tokenIdleTtlMs === null ? [] : [idleSessions({ loginTokens, clock, audit, idleTtlMs: tokenIdleTtlMs })]
  return startPruning([...idle, tokens, ...prunables], times, clock, log)
}
