import { type Answered, type Load, load } from './load.ts'
import { type Bench, inOrder, spreadOf } from './part.ts'

/** Something that is loaded once a round. */
export interface Contestant extends Load {
  readonly name: string
}

/** What each contestant carried, round by round. */
export type Carried = ReadonlyMap<string, readonly Answered[]>

/**
 * Loads the contestants one after another, round by round, every other round backwards. The first goes through them is
 * for warming up and counts for nothing.
 */
export async function carry(
  bench: Bench,
  contestants: readonly Contestant[],
  { rounds = bench.quick ? 3 : 7, warmSeconds = 1 } = {},
): Promise<Carried> {
  const carried = new Map<string, Answered[]>(contestants.map(({ name }) => [name, []]))
  for (const contestant of contestants) await load({ ...contestant, seconds: warmSeconds })
  for (let round = 0; round < rounds; round++) {
    for (const contestant of inOrder(contestants, round)) {
      bench.progress(`round ${round + 1} of ${rounds}: ${contestant.name}`)
      carried.get(contestant.name)?.push(await load(contestant))
    }
  }
  return carried
}

export function perSecondOf(carried: Carried, name: string): readonly number[] {
  return (carried.get(name) ?? []).map(({ perSecond }) => perSecond)
}

/** Of each round what one carried as a share of what another did in the same round. */
export function ratios(carried: Carried, name: string, to: string): readonly number[] {
  const others = perSecondOf(carried, to)
  return perSecondOf(carried, name).map((perSecond, round) => perSecond / (others[round] ?? Number.NaN))
}

export function medianP99(carried: Carried, name: string): number {
  return spreadOf((carried.get(name) ?? []).map(({ p99Ms }) => p99Ms)).median
}
