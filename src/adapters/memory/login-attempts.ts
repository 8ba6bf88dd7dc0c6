import { createHash } from 'node:crypto'

/** The counts of one key. Times are milliseconds of the throttle's clock. */
export interface AttemptCounts {
  /** The failures within the window. */
  readonly failures: number
  /** When the window began. */
  readonly sinceMs: number
  /** For an account, when the token bucket of its guesses is full again; 0 for a full one. */
  readonly fullAtMs: number
  /** The last successful login of account and address; null when there was none. */
  readonly succeededMs: number | null
  readonly failuresSinceSuccess: number
  /** When the undecided attempts acquired their slots. */
  readonly held: readonly number[]
}

/** The current counts of a key, and a function that replaces them. */
export interface AttemptEntry {
  readonly counted: AttemptCounts
  set(counted: AttemptCounts): void
}

const NO_SLOTS: readonly number[] = []
const NOTHING: AttemptCounts = {
  failures: 0,
  sinceMs: 0,
  fullAtMs: 0,
  succeededMs: null,
  failuresSinceSuccess: 0,
  held: NO_SLOTS,
}

const GENERATION_SIZE = 30_000
/** A slot that is not released within this time expires. */
const SLOT_TTL_MS = 15_000

/**
 * Creates counters for keys of one kind. It stores the 30,000 to 60,000 keys that were set last. Failures are reset
 * `windowMs` after their `sinceMs`, and are not counted when `windowMs` is 0.
 */
export function createAttemptCounter(windowMs: number): (name: string, nowMs: number) => AttemptEntry {
  // Two generations: deleting single entries from the front of a map becomes slower the more were deleted.
  let young = new Map<string, AttemptCounts>()
  let old = new Map<string, AttemptCounts>()

  return function at(name, nowMs) {
    // A digest has the same size however long the e-mail is.
    const key = createHash('sha256').update(name).digest('binary')
    return {
      counted: withoutExpired(young.get(key) ?? old.get(key) ?? NOTHING, nowMs),
      set(counted) {
        old.delete(key)
        if (isNothing(counted)) young.delete(key)
        else young.set(key, { ...counted, held: shared(counted.held) })
        if (young.size < GENERATION_SIZE) return
        old = young
        young = new Map()
      },
    }
  }

  function withoutExpired(counted: AttemptCounts, nowMs: number): AttemptCounts {
    const { failures, sinceMs, fullAtMs, held } = counted
    return {
      ...counted,
      failures: nowMs < sinceMs + windowMs ? failures : 0,
      fullAtMs: nowMs < fullAtMs ? fullAtMs : 0,
      held: held.filter((takenMs) => nowMs < takenMs + SLOT_TTL_MS),
    }
  }

  function isNothing({ failures, fullAtMs, succeededMs, held }: AttemptCounts): boolean {
    const counts = failures > 0 && windowMs > 0
    return !counts && fullAtMs === 0 && succeededMs === null && held.length === 0
  }
}

/** Whether failures and undecided attempts use all `slots`; undefined means no limit. */
export function hasNoSlot({ failures, held }: AttemptCounts, slots: number | undefined): boolean {
  return slots !== undefined && failures + held.length >= slots
}

/** Most keys have no slots: sharing one empty array saves a third of their memory. */
function shared(held: readonly number[]): readonly number[] {
  return held.length === 0 ? NO_SLOTS : held
}
