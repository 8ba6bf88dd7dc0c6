import { ReauthenticationRequired } from '../../domain/errors.ts'
import type { OwnedToken } from '../../domain/login-token.ts'
import type { Ports } from '../ports/ports.ts'
import { requireLoginToken } from './sessions.ts'

/**
 * Throws `LoginTokenRequired` for a named token, and `ReauthenticationRequired` when the caller's login is older than
 * `maxAgeMs` milliseconds.
 */
export type RequireFresh = (caller: OwnedToken, maxAgeMs: number) => void

export function createRequireFresh({ clock }: Pick<Ports, 'clock'>): RequireFresh {
  return function requireFresh(caller, maxAgeMs) {
    requireLoginToken(caller)
    if (clock.nowMs() - caller.token.createdAtMs > maxAgeMs) throw new ReauthenticationRequired(maxAgeMs)
  }
}
