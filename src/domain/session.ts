import type { LoginToken } from './login-token.ts'
import { codePoints, lineProblem } from './text.ts'

/** A session is a login token. This is one that occupies a slot: it is not revoked. */
export interface HeldSession extends Pick<LoginToken, 'id' | 'createdAtMs' | 'expiresAtMs' | 'lastUsedAtMs'> {
  /** From 1 to 100; no other session of the customer has it. */
  readonly slot: number
}

/** How many sessions a customer may hold at once. */
export interface SessionLimit {
  /** From 1 to 100. */
  readonly max: number
  /** What a login does when `max` sessions are live: revoke the oldest, or fail. */
  readonly whenFull: 'replace' | 'refuse'
}

/** The slot of a new session, and what has to happen first: revoke these sessions, then move others to these slots. */
export interface Admission {
  readonly slot: number
  readonly revoked: readonly string[]
  readonly moved: readonly { readonly id: string; readonly slot: number }[]
}

/**
 * Decides on a new session of a customer who holds `held`. Sessions that have ended give up their slots. Returns `full` when
 * the limit refuses the new one. Afterwards at most `max` sessions are held, in the slots 1 to `max`.
 */
export function admitSession(
  held: readonly HeldSession[],
  { max, whenFull }: SessionLimit,
  hasEnded: (session: HeldSession) => boolean,
): Admission | 'full' {
  const live = held
    .filter((session) => !hasEnded(session))
    .toSorted((a, b) => b.createdAtMs - a.createdAtMs || a.slot - b.slot)
  if (whenFull === 'refuse' && live.length >= max) return 'full'
  const remaining = live.slice(0, max - 1)
  const free = new Set(Array.from({ length: max }, (_, index) => index + 1))
  for (const { slot } of remaining) free.delete(slot)
  const next = () => {
    const [slot = 1] = free
    free.delete(slot)
    return slot
  }
  const moved = remaining.filter(({ slot }) => slot > max).map(({ id }) => ({ id, slot: next() }))
  return { slot: next(), revoked: held.filter((one) => !remaining.includes(one)).map(({ id }) => id), moved }
}

/** Decides on a new session that ends all others, as `admitSession` does for one session that is replaced. */
export function replaceAll(held: readonly HeldSession[]): Admission {
  return { slot: 1, revoked: held.map(({ id }) => id), moved: [] }
}

/** Uses reach the store within this time, and a process may not know of those that others have not written yet. */
export const IDLE_GRACE_MS = 60_000

/**
 * Returns when a login token expires without a further use: `idleTtlMs` and 60 seconds after its creation or the last use
 * that is stored or in `knownUseMs`. OWASP ASVS 5.0, requirement 7.3.1.
 */
export function idleEndMs(
  { createdAtMs, lastUsedAtMs }: Pick<LoginToken, 'createdAtMs' | 'lastUsedAtMs'>,
  idleTtlMs: number,
  knownUseMs: number | null,
): number {
  return Math.max(createdAtMs, lastUsedAtMs ?? 0, knownUseMs ?? 0) + idleTtlMs + IDLE_GRACE_MS
}

/** Returns the problem with the label of a device as one sentence, or null when it is valid. */
export function deviceProblem(device: string): string | null {
  if (codePoints(device) > 100) return 'Must have at most 100 characters.'
  return lineProblem(device)
}
