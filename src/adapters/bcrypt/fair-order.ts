/** What the order knows of an entry. */
export interface Ordered {
  /** Null for work that is never rejected. */
  readonly source: string | null
  readonly account: string
  readonly isKnown: boolean
  /** Greater than that of every earlier entry. */
  readonly number: number
  /** Whether it has work for a thread now. */
  isReady(): boolean
}

interface Account<Entry> {
  /** The round of its source in which it is served next. */
  turn: number
  /** In order of arrival. */
  readonly entries: Set<Entry>
}

interface Source<Entry> {
  /** The round in which it is served next. */
  turn: number
  /** The current round over its accounts. */
  round: number
  readonly accounts: Map<string, Account<Entry>>
}

/** One entry of each of this number of known accounts counts nothing when the source that holds the most is found. */
const MAX_SPARED = 3

/**
 * Entries that wait, in round-robin order by source, then by account within a source: each is served once in a round, and
 * one that arrives joins the next round. At an equal turn, known ones come first, then the earliest.
 */
export class FairOrder<Entry extends Ordered> {
  readonly #sources = new Map<string | null, Source<Entry>>()
  #round = 0

  add(entry: Entry): void {
    const source = this.#sources.get(entry.source) ?? { turn: this.#round + 1, round: 0, accounts: new Map() }
    this.#sources.set(entry.source, source)
    const account = source.accounts.get(entry.account) ?? { turn: source.round + 1, entries: new Set() }
    source.accounts.set(entry.account, account)
    account.entries.add(entry)
  }

  remove(entry: Entry): void {
    const accounts = this.#sources.get(entry.source)?.accounts
    const entries = accounts?.get(entry.account)?.entries
    if (entries?.delete(entry) && entries.size === 0) accounts?.delete(entry.account)
    if (accounts?.size === 0) this.#sources.delete(entry.source)
  }

  /** Removes and returns the ready entry whose turn it is; null when none is ready. */
  takeNext(): Entry | null {
    const next = best(this.#sources.values(), isBefore, ({ turn, accounts }) => {
      const own = best(accounts.values(), isBefore, (account) => ({
        rank: account.turn,
        entry: [...account.entries].find((entry) => entry.isReady()) ?? null,
      }))
      return { rank: turn, entry: own }
    })
    if (next === null) return null
    this.#endTurn(next)
    this.remove(next)
    return next
  }

  /** Returns the newest entry of the account that holds the most, within the source that holds the most. */
  newestOfHeaviest(): Entry | null {
    return best(this.#sources, isAfter, ([source, { accounts }]) => ({
      rank: weight(accounts.values()),
      entry:
        source === null
          ? null
          : best(accounts.values(), isAfter, ({ entries }) => ({
              rank: entries.size,
              entry: [...entries].at(-1) ?? null,
            })),
    }))
  }

  #endTurn(entry: Entry): void {
    const source = this.#sources.get(entry.source)
    const account = source?.accounts.get(entry.account)
    if (source === undefined || account === undefined) return
    this.#round = Math.max(this.#round, source.turn)
    source.turn = this.#round + 1
    source.round = Math.max(source.round, account.turn)
    account.turn = source.round + 1
  }
}

/** An entry, and the number by which its group is compared. */
interface Candidate<Entry> {
  readonly rank: number
  readonly entry: Entry
}

/** Returns the entry of the first candidate in an order; candidates without an entry do not count. */
function best<Group, Entry extends Ordered>(
  groups: Iterable<Group>,
  precedes: (one: Candidate<Ordered>, other: Candidate<Ordered>) => boolean,
  toCandidate: (group: Group) => Candidate<Entry | null>,
): Entry | null {
  let found: Candidate<Entry> | null = null
  for (const group of groups) {
    const { rank, entry } = toCandidate(group)
    if (entry === null) continue
    const candidate = { rank, entry }
    if (found === null || precedes(candidate, found)) found = candidate
  }
  return found?.entry ?? null
}

function isBefore(one: Candidate<Ordered>, other: Candidate<Ordered>): boolean {
  if (one.rank !== other.rank) return one.rank < other.rank
  if (one.entry.isKnown !== other.entry.isKnown) return one.entry.isKnown
  return one.entry.number < other.entry.number
}

function isAfter(one: Candidate<Ordered>, other: Candidate<Ordered>): boolean {
  return isBefore(other, one)
}

/** Returns the number of entries of a source, without those that are spared. */
function weight<Entry extends Ordered>(accounts: Iterable<Account<Entry>>): number {
  let [size, known] = [0, 0]
  for (const { entries } of accounts) {
    size += entries.size
    if ([...entries].some(({ isKnown }) => isKnown)) known++
  }
  return size - Math.min(MAX_SPARED, known)
}
