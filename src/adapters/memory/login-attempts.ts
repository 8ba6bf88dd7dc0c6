import { createHash } from 'node:crypto'

/** What is counted under one key. */
export interface Counted {
  /** Of an account those in a row, else those of the window. */
  readonly failures: number
  /** Of an account when the last failure was, else when the window began. */
  readonly sinceMs: number
  /** When account and address have last logged in; null before. */
  readonly succeededMs: number | null
  readonly failuresSinceSuccess: number
  /** When attempts that are not decided yet took their places. */
  readonly held: readonly number[]
}

/** What is counted under a key now, and how to replace it. */
export interface CountedFailures {
  readonly counted: Counted
  keep(counted: Counted): void
}

const NO_PLACES: readonly number[] = []
const NOTHING: Counted = {
  failures: 0,
  sinceMs: 0,
  succeededMs: null,
  failuresSinceSuccess: 0,
  held: NO_PLACES,
}

const GENERATION = 30_000
/** After that, whoever took a place is taken for dead. */
const PLACE_MS = 15_000

/**
 * Counts under keys of one kind, the 30,000 to 60,000 that were set last. Failures are forgotten `windowMs` after their
 * `sinceMs`, and not counted where that is 0.
 */
export function counter(windowMs: number): (of: string, nowMs: number) => CountedFailures {
  // Two generations: to take single ones from the front of a map costs more the more were taken.
  let young = new Map<string, Counted>()
  let old = new Map<string, Counted>()

  return function at(of, nowMs) {
    // Of one size, however long an e-mail is.
    const key = createHash('sha256').update(of).digest('binary')
    return {
      counted: currentOf(young.get(key) ?? old.get(key) ?? NOTHING, nowMs),
      keep(counted) {
        old.delete(key)
        if (isNothing(counted)) young.delete(key)
        else young.set(key, { ...counted, held: shared(counted.held) })
        if (young.size < GENERATION) return
        old = young
        young = new Map()
      },
    }
  }

  function currentOf(counted: Counted, nowMs: number): Counted {
    const { failures, sinceMs, held } = counted
    return {
      ...counted,
      failures: nowMs < sinceMs + windowMs ? failures : 0,
      held: held.filter((takenMs) => nowMs < takenMs + PLACE_MS),
    }
  }

  function isNothing({ failures, succeededMs, held }: Counted): boolean {
    return (failures === 0 || windowMs === 0) && succeededMs === null && held.length === 0
  }
}

/** Whether failures and attempts that are not decided yet have taken all of so many places. */
export function isFull({ failures, held }: Counted, places: number | undefined): boolean {
  return places !== undefined && failures + held.length >= places
}

/** Most have no places: one list for all of them is a third of their size. */
function shared(held: readonly number[]): readonly number[] {
  return held.length === 0 ? NO_PLACES : held
}
