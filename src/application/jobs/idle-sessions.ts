import { IDLE_GRACE_MS } from '../../domain/session.ts'
import type { PageEnd } from '../ports/login-tokens.ts'
import type { Ports } from '../ports/ports.ts'
import type { Prunable } from './pruning.ts'

/**
 * Another process may have accepted a token until it expired, and writes the use within the same time; the rest is for the
 * difference of their clocks.
 */
const MARGIN_MS = 2 * IDLE_GRACE_MS

/** Revokes the sessions that were not used, so that they are shown as ended and deleted after their retention. */
export function idleSessions({
  loginTokens,
  clock,
  audit,
  idleTtlMs,
}: Pick<Ports, 'loginTokens' | 'clock' | 'audit'> & { readonly idleTtlMs: number }): Prunable {
  let after: PageEnd | null = null
  return {
    name: 'idle_sessions',
    async prune(limit, timeoutMs) {
      const atMs = clock.nowMs()
      const unusedSinceMs = atMs - idleTtlMs - IDLE_GRACE_MS - MARGIN_MS
      const step = await loginTokens.revokeIdle({ unusedSinceMs, atMs, after, limit }, timeoutMs)
      after = step.end
      if (step.revoked > 0) audit.record('token.revoked', { reason: 'idle', count: step.revoked })
      // A round ends with the first step that reports less than the limit.
      return after === null ? 0 : limit
    },
  }
}
