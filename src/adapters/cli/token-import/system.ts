import type { SkippedRow, TokenRow } from '../../../application/management/token-rows.ts'
import type { ForeignForm, ForeignToken } from '../../../domain/foreign-token.ts'
import { optionalText, requiredText, time } from './fields.ts'
import type { TokenRecord } from './records.ts'

/** What the operator says about the tokens of the other system. */
export interface SystemOptions {
  readonly tokenableType?: string | undefined
  /** The time after their creation at which tokens expire, in milliseconds; null for never. */
  readonly expiresAfterMs?: number | null | undefined
  readonly acceptWeakKeys?: boolean | undefined
  readonly nowMs: number
}

/** A system whose tokens can be imported. */
export interface System {
  /** The form of its tokens; null when each row says it. */
  readonly form: ForeignForm | null
  /** The columns without which no token can be imported. */
  readonly columns: readonly string[]
  /** Reads a row of its table. Throws `WrongField`. */
  read(record: TokenRecord, options: SystemOptions): TokenRow | SkippedRow
}

/** Returns a token of another system. */
export function foreign(form: ForeignForm, externalId: string | null, digest: string): ForeignToken {
  return { form, externalId, digest }
}

/** Returns the fields that the tables of all systems have; `name` is for a token without one. */
export function row(record: TokenRecord, token: ForeignToken, name: string): Omit<TokenRow, 'abilities'> {
  return {
    line: record.line,
    ...token,
    email: requiredText(record, 'email'),
    name: optionalText(record, 'name') ?? name,
    createdAtMs: time(record, 'createdat'),
    expiresAtMs: time(record, 'expiresat'),
    lastUsedAtMs: time(record, 'lastusedat') ?? time(record, 'lastrequest'),
  }
}

/** Returns the token, or that it is skipped because it has expired. */
export function unlessExpired({ line }: TokenRecord, nowMs: number, token: TokenRow): TokenRow | SkippedRow {
  const isExpired = token.expiresAtMs !== null && token.expiresAtMs <= nowMs
  return isExpired ? { line, skipped: 'expired', present: null } : token
}

/** Returns that the row is skipped. */
export function skip(
  { line }: TokenRecord,
  skipped: SkippedRow['skipped'],
  present: ForeignToken | null = null,
): SkippedRow {
  return { line, skipped, present }
}
