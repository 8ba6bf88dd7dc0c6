import { trimmedEmail } from '../../domain/customer.ts'
import { Unavailable } from '../../domain/errors.ts'
import type { ForeignForm, ForeignToken } from '../../domain/foreign-token.ts'
import { type Digest, LOGIN_TOKEN_NAME } from '../../domain/login-token.ts'
import type { Deadline } from '../deadline.ts'
import { revokeMissing, type SyncedTokens } from '../management/revoke-missing.ts'
import { type SkippedRow, type TokenRow, tokenRowProblem } from '../management/token-rows.ts'
import type { ImportedToken, ImportedTokens, ImportOutcome } from '../ports/imported-tokens.ts'
import type { Ports } from '../ports/ports.ts'
import type { RefusedRow } from './import-customers.ts'

/** A step of an import: it refused or skipped a row, stored a batch, or revoked the tokens that the file lacks. */
export type TokenImportStep =
  | { readonly kind: 'refused'; readonly row: RefusedRow }
  | { readonly kind: 'skipped'; readonly reason: SkippedRow['skipped'] }
  | { readonly kind: 'settled'; readonly added: number; readonly alreadyThere: number }
  | { readonly kind: 'revoked'; readonly revoked: number }

/** How tokens are imported. */
export interface TokenImportOptions {
  readonly isDryRun: boolean
  /** Accepts abilities that end in `:*`, which the other system compares exactly. */
  readonly isWidening: boolean
  /** The form of which every token that the file lacks is revoked; null to revoke none. */
  readonly synced: ForeignForm | null
  readonly deadline: () => Deadline
}

/**
 * Stores the tokens of the rows, which come in groups of any size, and yields each step. A batch is stored completely before its step is yielded, while the next
 * one is read. When the rows end with an error, the batch that is being stored is yielded first; a caller who stops early
 * waits for it. A token that exists stays unchanged. Throws `Unavailable` when the store does not respond in time.
 */
export type ImportTokens = (
  rows: AsyncIterable<readonly (TokenRow | SkippedRow | RefusedRow)[]>,
  options: TokenImportOptions,
) => AsyncGenerator<TokenImportStep, void, void>

/** Its transaction locks its customers, whose logins wait for it. */
const BATCH_SIZE = 1000

const OUTCOMES: Readonly<Partial<Record<ImportOutcome, string>>> = {
  no_customer: 'email: No customer has this e-mail.',
  disabled: 'email: The customer is disabled.',
}

interface Entry {
  readonly line: number
  readonly token: ImportedToken
}

export function createImportTokens(
  { invalidations, audit, clock, ids }: Pick<Ports, 'invalidations' | 'audit' | 'clock' | 'ids'>,
  store: ImportedTokens,
  digestOf: (token: ForeignToken) => Digest,
  createSet: () => SyncedTokens,
): ImportTokens {
  return async function* importTokens(rows, { isDryRun, isWidening, synced, deadline }) {
    const sync = synced === null ? null : { form: synced, present: createSet() }
    let isComplete = true
    let batch: Entry[] = []
    let storing: Promise<readonly TokenImportStep[]> = Promise.resolve([])
    try {
      for await (const group of rows)
        for (const row of group) {
          if ('skipped' in row) {
            if (row.present !== null) sync?.present.add(digestOf(row.present))
            yield { kind: 'skipped', reason: row.skipped }
            continue
          }
          const entry = check(row)
          if ('problem' in entry) yield { kind: 'refused', row: entry }
          else batch.push(entry)
          if (batch.length < BATCH_SIZE) continue
          yield* await storing
          storing = settle(batch)
          // Its rejection is handled where it is awaited.
          storing.catch(() => {})
          batch = []
        }
      yield* await storing
      storing = settle(batch)
      yield* await storing
    } catch (error) {
      // The rows ended with it, or it is of this batch.
      yield* await storing
      throw error
    } finally {
      // Also when the caller stops, so that nothing uses the store afterwards.
      await Promise.allSettled([storing])
    }
    // A row that cannot be read may be of a token that must stay.
    if (sync === null || !isComplete || sync.present.size() === 0) return
    const revoked = await revokeMissing({ store, invalidations, clock }, sync.form, sync.present, {
      isDryRun,
      deadline,
    })
    if (revoked > 0 && !isDryRun) audit.record('token.revoked', { count: revoked, reason: 'operator' })
    yield { kind: 'revoked', revoked }

    function check(row: TokenRow | RefusedRow): Entry | RefusedRow {
      if ('problem' in row) {
        isComplete = false
        return row
      }
      const { form, externalId } = row
      const digest = form === null ? row.digest : digestOf({ form, externalId, digest: row.digest })
      sync?.present.add(digest)
      const problem = tokenRowProblem(row, isWidening)
      return problem === null
        ? { line: row.line, token: toImported(row, digest) }
        : { line: row.line, problem }
    }

    async function settle(entries: readonly Entry[]): Promise<readonly TokenImportStep[]> {
      if (entries.length === 0) return []
      const tokens = entries.map(({ token }) => token)
      const outcomes = await deadline().run((timeoutMs) =>
        isDryRun ? store.checkMany(tokens, timeoutMs) : store.addMany(tokens, timeoutMs),
      )
      if (outcomes.length !== entries.length) throw new Unavailable()
      const added = outcomes.filter((outcome) => outcome === 'added').length
      const alreadyThere = outcomes.filter((outcome) => outcome === 'exists').length
      if (added > 0 && !isDryRun) audit.record('token.issued', { count: added })
      const refused = entries.flatMap(({ line }, at) => {
        const problem = OUTCOMES[outcomes[at] as ImportOutcome]
        return problem === undefined ? [] : [{ kind: 'refused', row: { line, problem } } as const]
      })
      return [...refused, { kind: 'settled', added, alreadyThere }]
    }
  }

  function toImported(row: TokenRow, digest: Digest): ImportedToken {
    const { form, externalId, email, name, abilities, createdAtMs, expiresAtMs, lastUsedAtMs } = row
    const token = {
      id: ids.next(),
      // The name of login tokens is reserved, and the form says which token it was.
      name: name === LOGIN_TOKEN_NAME ? `${form ?? 'imported'} ${name}` : name,
      abilities,
      device: null,
      createdAtMs: createdAtMs ?? clock.nowMs(),
      expiresAtMs,
      lastUsedAtMs,
    }
    return { token, email: trimmedEmail(email), digest, form, externalId }
  }
}
