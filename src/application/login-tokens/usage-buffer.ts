import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../ports/log.ts'
import type { LoginTokens } from '../ports/login-tokens.ts'
import type { TokenUsage } from '../ports/token-usage.ts'

/** Remembers uses and writes them now and then. */
export interface UsageBuffer extends TokenUsage {
  /** Writes what is left; nothing that is used later is written. */
  close(): Promise<void>
}

/** How long a first use waits for others to be written with. */
const GATHER_MS = 20
/** A token's uses are written at most so often. */
const EVERY_MS = 60_000
const RETRY_MS = 5000
/** After a write it rests for so many times as long as that took: writing takes a tenth of one connection at most. */
const RESTS = 9
const WRITE_WAIT_MS = 1000
const MOST_AT_ONCE = 1000
const MOST_NOTES = 100_000
const CLOSING_TRIES = 3
const CLOSING_PAUSE_MS = 100

interface Note {
  readonly id: string
  atMs: number
  /** Used since it was last written. */
  isNew: boolean
}

/** Notes that nothing is done with for a while; then those used meanwhile are written, and the others forgotten. */
interface Rest {
  readonly notes: readonly Note[]
  readonly callOff: () => void
}

/**
 * Usage that is written beside the requests: a first use at once, later ones once a minute a token. A write that fails
 * is tried again; of more tokens than it has room for, those noted first are forgotten.
 */
export function createUsageBuffer(
  { touch }: Pick<LoginTokens, 'touch'>,
  clock: Clock,
  log: Log,
): UsageBuffer {
  const notes = new Map<string, Note>()
  const resting = new Set<Rest>()
  let due: Note[] = []
  let callOff: (() => void) | null = null
  let writing: Promise<void> | null = null
  let isFailing = false
  let isOver = false

  return {
    used(id) {
      const note = notes.get(id)
      if (note === undefined) return begin(id)
      note.atMs = clock.nowMs()
      note.isNew = true
    },

    async close() {
      isOver = true
      callOff?.()
      for (const rest of resting) rest.callOff()
      await writing
      let left = [...notes.values()].filter(({ isNew }) => isNew)
      for (let tries = 0; left.length > 0 && tries < CLOSING_TRIES; tries++) {
        if (tries > 0) await new Promise<void>((resolve) => clock.after(CLOSING_PAUSE_MS, resolve))
        left = await writeAll(left)
      }
      if (left.length > 0) log.warn('token_usage.lost', { detail: `${left.length} last uses` })
    },
  }

  function begin(id: string): void {
    if (notes.size >= MOST_NOTES) makeRoom()
    const note = { id, atMs: clock.nowMs(), isNew: true }
    notes.set(id, note)
    due.push(note)
    writeIn(GATHER_MS)
  }

  function makeRoom(): void {
    const [oldest] = resting
    oldest?.callOff()
    if (oldest !== undefined) resting.delete(oldest)
    for (const { id } of oldest?.notes ?? due.splice(0, MOST_AT_ONCE)) notes.delete(id)
  }

  function writeIn(ms: number): void {
    if (callOff !== null || writing !== null || isOver) return
    callOff = clock.after(ms, () => {
      callOff = null
      if (due.length === 0) return
      writing = writeDue().then((nextMs) => {
        writing = null
        // Also where nothing is due yet: what comes meanwhile waits, too.
        writeIn(nextMs)
      })
    })
  }

  /** Answers how long the next write has to wait. */
  async function writeDue(): Promise<number> {
    const beganMs = clock.monotonicMs()
    const batch = due.slice(0, MOST_AT_ONCE)
    due = due.slice(MOST_AT_ONCE)
    const { held, failed } = await write(batch)
    rest(held, RETRY_MS)
    rest(
      batch.filter((note) => !held.includes(note)),
      EVERY_MS,
    )
    return failed ? RETRY_MS : Math.max(GATHER_MS, RESTS * (clock.monotonicMs() - beganMs))
  }

  /** Answers the notes that could not be written, all of them where it `failed`. */
  async function write(batch: readonly Note[]): Promise<{ readonly held: Note[]; readonly failed: boolean }> {
    // Whatever is used while it is being written is new again.
    for (const note of batch) note.isNew = false
    const uses = batch.map(({ id, atMs }) => ({ id, atMs }))
    try {
      const heldIds = new Set(await touch(uses, WRITE_WAIT_MS))
      isFailing = false
      return { held: unwritten(batch.filter(({ id }) => heldIds.has(id))), failed: false }
    } catch (error) {
      if (!isFailing) log.warn('token_usage.failed', { error: (error as Error).name })
      isFailing = true
      return { held: unwritten([...batch]), failed: true }
    }
  }

  async function writeAll(all: readonly Note[]): Promise<Note[]> {
    const left: Note[] = []
    for (let from = 0; from < all.length; from += MOST_AT_ONCE) {
      const { held, failed } = await write(all.slice(from, from + MOST_AT_ONCE))
      left.push(...held)
      if (failed) return [...left, ...all.slice(from + MOST_AT_ONCE)]
    }
    return left
  }

  function rest(batch: readonly Note[], ms: number): void {
    if (batch.length === 0 || isOver) return
    const mine: Rest = {
      notes: batch,
      callOff: clock.after(ms, () => {
        resting.delete(mine)
        for (const note of batch) {
          if (note.isNew) due.push(note)
          else notes.delete(note.id)
        }
        if (due.length > 0) writeIn(GATHER_MS)
      }),
    }
    resting.add(mine)
  }
}

function unwritten(batch: Note[]): Note[] {
  for (const note of batch) note.isNew = true
  return batch
}
