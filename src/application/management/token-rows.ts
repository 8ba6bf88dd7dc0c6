import { isAbility } from '../../domain/abilities.ts'
import { newEmailProblem, trimmedEmail } from '../../domain/customer.ts'
import { externalIdProblem, type ForeignForm, type ForeignToken } from '../../domain/foreign-token.ts'
import { type Digest, LOGIN_TOKEN_NAME, tokenNameProblem } from '../../domain/login-token.ts'

/** A token as read from the file of another system. Times are milliseconds since the Unix epoch. */
export interface TokenRow {
  readonly line: number
  readonly email: string
  /** Null for a token in Latchkey's own form. */
  readonly form: ForeignForm | null
  readonly externalId: string | null
  /** The SHA-256 of the secret, or of the whole token in Latchkey's own form, as 64 lower-case hexadecimal digits. */
  readonly digest: Digest
  readonly name: string
  readonly abilities: readonly string[]
  /** Null when the file has none: the time of the import. */
  readonly createdAtMs: number | null
  readonly expiresAtMs: number | null
  readonly lastUsedAtMs: number | null
}

/** A row that is left out without being wrong, and why. `present` is its token when that counts as present in the other system. */
export interface SkippedRow {
  readonly line: number
  readonly skipped: 'disabled' | 'exhausted' | 'expired' | 'other_type'
  readonly present: ForeignToken | null
}

/** The end of the year 9999: later times have no common form as text. */
const MAX_TIME_MS = Date.UTC(10_000, 0) - 1

/** Returns why a token cannot be imported, in a sentence that repeats no value of the row, or null. */
export function tokenRowProblem(row: TokenRow, isWidening: boolean): string | null {
  const { email, externalId, name, abilities, digest } = row
  const emailProblem = newEmailProblem(trimmedEmail(email))
  if (emailProblem !== null) return `email: ${emailProblem}`
  if (!/^[0-9a-f]{64}$/.test(digest)) return 'digest: Must be a SHA-256.'
  const idProblem = externalId === null ? null : externalIdProblem(externalId)
  if (idProblem !== null) return `id: ${idProblem}`
  const nameProblem = name === LOGIN_TOKEN_NAME ? null : tokenNameProblem(name)
  if (nameProblem !== null) return `name: ${nameProblem}`
  if (!abilities.every(isAbility))
    return 'abilities: Each must be a word such as orders:read; letters, digits, _ . - and colons.'
  if (!isWidening && abilities.some((ability) => ability.endsWith(':*')))
    return 'abilities: One ends in :*, which the other system compares exactly, and which grants everything below it here. Add --widen to accept it.'
  for (const [field, atMs] of [
    ['created_at', row.createdAtMs],
    ['expires_at', row.expiresAtMs],
    ['last_used_at', row.lastUsedAtMs],
  ] as const)
    if (atMs !== null && !(atMs >= 0 && atMs <= MAX_TIME_MS))
      return `${field}: Must be a time from 1970 to 9999.`
  return null
}
