import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../ports/log.ts'
import type { LoginTokens } from '../ports/login-tokens.ts'
import type { TokenUsage } from '../ports/token-usage.ts'
import { MAX_BATCH, type UsageEntry, UsageWriter } from './usage-writer.ts'

/** A write-behind buffer of token uses. */
export interface UsageBuffer extends TokenUsage {
  /** Writes the buffered uses and resolves; later uses are not written. */
  close(): Promise<void>
}

/** How uses are written. */
export interface UsagePolicy {
  /** The shortest time between two writes of one token, in milliseconds. */
  readonly everyMs: number
  /** A use is written only when it is at least this much later than the stored one, in milliseconds. */
  readonly minAdvanceMs: number
  /** The pause after a write, as a multiple of its duration. */
  readonly restFactor: number
  /** When there are more, the oldest are dropped. */
  readonly maxEntries: number
}

/** Nothing is decided by the last use: writing occupies at most a tenth of one connection. */
export const INFORMATIVE_USES: UsagePolicy = {
  everyMs: 60_000,
  minAdvanceMs: 1,
  restFactor: 9,
  maxEntries: 100_000,
}

/**
 * Idle tokens expire: every use is written within 60 seconds, unless the stored one is less than 45 seconds earlier. The 15
 * seconds that remain after a rest are for the write. The entries are those of the tokens that were used within a minute.
 */
export const DECISIVE_USES: UsagePolicy = {
  everyMs: 45_000,
  minAdvanceMs: 45_000,
  restFactor: 0,
  maxEntries: Number.POSITIVE_INFINITY,
}

/** How long a first use waits, so that others are written in the same batch. */
const GATHER_MS = 20
const RETRY_MS = 5000

/** Entries that wait after a write. Afterwards, those used meanwhile are written and the others are dropped. */
interface Rest {
  readonly entries: readonly UsageEntry[]
  readonly cancel: () => void
}

/**
 * Writes token uses in the background (write-behind): a first use at once, later ones after a rest for each token. A failed
 * write is repeated.
 */
export function createUsageBuffer(
  loginTokens: Pick<LoginTokens, 'touch'>,
  clock: Clock,
  log: Log,
  { everyMs, minAdvanceMs, restFactor, maxEntries }: UsagePolicy = INFORMATIVE_USES,
): UsageBuffer {
  const writer = new UsageWriter(loginTokens, clock, log, minAdvanceMs)
  const entries = new Map<string, UsageEntry>()
  const resting = new Set<Rest>()
  let due: UsageEntry[] = []
  let cancel: (() => void) | null = null
  let writing: Promise<void> | null = null
  let isClosed = false

  return {
    used(id) {
      const entry = entries.get(id)
      if (entry === undefined) return begin(id)
      entry.atMs = clock.nowMs()
      entry.isNew = true
    },

    lastUseMs: (id) => entries.get(id)?.atMs ?? null,

    async close() {
      isClosed = true
      cancel?.()
      for (const rest of resting) rest.cancel()
      await writing
      await writer.writeLast([...entries.values()].filter(({ isNew }) => isNew))
    },
  }

  function begin(id: string): void {
    if (entries.size >= maxEntries) makeRoom()
    const entry = { id, atMs: clock.nowMs(), isNew: true }
    entries.set(id, entry)
    due.push(entry)
    writeIn(GATHER_MS)
  }

  function makeRoom(): void {
    const [oldest] = resting
    oldest?.cancel()
    if (oldest !== undefined) resting.delete(oldest)
    for (const { id } of oldest?.entries ?? due.splice(0, MAX_BATCH)) entries.delete(id)
  }

  function writeIn(ms: number): void {
    if (cancel !== null || writing !== null || isClosed) return
    cancel = clock.after(ms, () => {
      cancel = null
      if (due.length === 0) return
      writing = writeDue().then((nextMs) => {
        writing = null
        // Also when nothing is due yet: uses that arrive meanwhile wait too.
        writeIn(nextMs)
      })
    })
  }

  /** Returns the milliseconds until the next write. */
  async function writeDue(): Promise<number> {
    const startMs = clock.monotonicMs()
    const batch = due.slice(0, MAX_BATCH)
    due = due.slice(MAX_BATCH)
    const { unwritten, failed } = await writer.write(batch)
    rest(unwritten, RETRY_MS)
    rest(
      batch.filter((entry) => !unwritten.includes(entry)),
      everyMs,
    )
    return failed ? RETRY_MS : Math.max(GATHER_MS, restFactor * (clock.monotonicMs() - startMs))
  }

  function rest(batch: readonly UsageEntry[], ms: number): void {
    if (batch.length === 0 || isClosed) return
    const mine: Rest = {
      entries: batch,
      cancel: clock.after(ms, () => {
        resting.delete(mine)
        for (const entry of batch) {
          if (entry.isNew) due.push(entry)
          else entries.delete(entry.id)
        }
        if (due.length > 0) writeIn(GATHER_MS)
      }),
    }
    resting.add(mine)
  }
}
