import type { Clock } from '../../lib/clock.ts'
import { wait } from '../../lib/wait.ts'
import type { Log } from '../ports/log.ts'
import type { LoginTokens } from '../ports/login-tokens.ts'
import type { TokenUsage } from '../ports/token-usage.ts'
import { MAX_BATCH, type UsageEntry, UsageWriter } from './usage-writer.ts'

/** A write-behind buffer of token uses. */
export interface UsageBuffer extends TokenUsage {
  /** Writes the buffered uses and resolves; later uses are not written. */
  close(): Promise<void>
}

/** How long a first use waits, so that others are written in the same batch. */
const GATHER_MS = 20
/** The shortest time between two writes of one token. */
const EVERY_MS = 60_000
const RETRY_MS = 5000
/** The pause after a write, as a multiple of its duration: writing occupies at most a tenth of one connection. */
const REST_FACTOR = 9
const MAX_ENTRIES = 100_000
const CLOSING_TRIES = 3
const CLOSING_PAUSE_MS = 100

/** Entries that wait after a write. Afterwards, those used meanwhile are written and the others are dropped. */
interface Rest {
  readonly entries: readonly UsageEntry[]
  readonly cancel: () => void
}

/**
 * Writes token uses in the background (write-behind): a first use at once, later ones once a minute for each token. A
 * failed write is repeated. When the buffer is full, the oldest entries are dropped.
 */
export function createUsageBuffer(
  loginTokens: Pick<LoginTokens, 'touch'>,
  clock: Clock,
  log: Log,
): UsageBuffer {
  const writer = new UsageWriter(loginTokens, log)
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

    async close() {
      isClosed = true
      cancel?.()
      for (const rest of resting) rest.cancel()
      await writing
      let left = [...entries.values()].filter(({ isNew }) => isNew)
      for (let tries = 0; left.length > 0 && tries < CLOSING_TRIES; tries++) {
        if (tries > 0) await wait(CLOSING_PAUSE_MS, clock, null)
        left = await writer.writeAll(left)
      }
      if (left.length > 0) log.warn('token_usage.lost', { detail: `${left.length} last uses` })
    },
  }

  function begin(id: string): void {
    if (entries.size >= MAX_ENTRIES) makeRoom()
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
      EVERY_MS,
    )
    return failed ? RETRY_MS : Math.max(GATHER_MS, REST_FACTOR * (clock.monotonicMs() - startMs))
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
