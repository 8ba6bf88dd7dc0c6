import type { Clock } from '../../lib/clock.ts'
import { wait } from '../../lib/wait.ts'
import type { Log } from '../ports/log.ts'
import type { LoginTokens } from '../ports/login-tokens.ts'

/** The number of uses that one write contains at most. */
export const MAX_BATCH = 1000
const WRITE_TIMEOUT_MS = 1000
const LAST_TRIES = 3
const LAST_PAUSE_MS = 100

/** The last use of one token. */
export interface UsageEntry {
  readonly id: string
  atMs: number
  /** Whether the token was used since the last write. */
  isNew: boolean
}

/** Writes batches of token uses. Logs the first failure of a series. */
export class UsageWriter {
  readonly #loginTokens: Pick<LoginTokens, 'touch'>
  readonly #clock: Pick<Clock, 'after'>
  readonly #log: Log
  readonly #minAdvanceMs: number
  #isFailing = false

  constructor(
    loginTokens: Pick<LoginTokens, 'touch'>,
    clock: Pick<Clock, 'after'>,
    log: Log,
    minAdvanceMs: number,
  ) {
    this.#loginTokens = loginTokens
    this.#clock = clock
    this.#log = log
    this.#minAdvanceMs = minAdvanceMs
  }

  /** Returns the entries that were not written; all of them when it `failed`. */
  async write(
    batch: readonly UsageEntry[],
  ): Promise<{ readonly unwritten: readonly UsageEntry[]; readonly failed: boolean }> {
    // A token that is used during the write is new again.
    for (const entry of batch) entry.isNew = false
    const minAdvanceMs = this.#minAdvanceMs
    const uses = batch.map(({ id, atMs }) => ({ id, atMs, ...(minAdvanceMs > 1 && { minAdvanceMs }) }))
    try {
      const lockedIds = new Set(await this.#loginTokens.touch(uses, WRITE_TIMEOUT_MS))
      this.#isFailing = false
      return { unwritten: markNew(batch.filter(({ id }) => lockedIds.has(id))), failed: false }
    } catch (error) {
      if (!this.#isFailing) this.#log.warn('token_usage.failed', { error: (error as Error).name })
      this.#isFailing = true
      return { unwritten: markNew(batch), failed: true }
    }
  }

  /** Writes any number of entries, in at most three tries, before the process ends. Logs how many were not written. */
  async writeLast(entries: readonly UsageEntry[]): Promise<void> {
    let left = entries
    for (let tries = 0; left.length > 0 && tries < LAST_TRIES; tries++) {
      if (tries > 0) await wait(LAST_PAUSE_MS, this.#clock, null)
      left = await this.#writeAll(left)
    }
    if (left.length > 0) this.#log.warn('token_usage.lost', { detail: `${left.length} last uses` })
  }

  /** Writes entries in batches until one fails. Returns those that were not written. */
  async #writeAll(all: readonly UsageEntry[]): Promise<UsageEntry[]> {
    const left: UsageEntry[] = []
    for (let from = 0; from < all.length; from += MAX_BATCH) {
      const { unwritten, failed } = await this.write(all.slice(from, from + MAX_BATCH))
      left.push(...unwritten)
      if (failed) return [...left, ...all.slice(from + MAX_BATCH)]
    }
    return left
  }
}

function markNew(batch: readonly UsageEntry[]): readonly UsageEntry[] {
  for (const entry of batch) entry.isNew = true
  return batch
}
