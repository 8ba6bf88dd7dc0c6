import type { Digest } from './login-token.ts'
import { codePoints, lineProblem } from './text.ts'

/** The systems whose tokens can be imported, by the form in which clients present a token. */
export const FOREIGN_FORMS = ['sanctum', 'adonis', 'drf', 'better-auth'] as const

export type ForeignForm = (typeof FOREIGN_FORMS)[number]

/** A token of another system: what its clients present, or what that system stores. */
export interface ForeignToken {
  readonly form: ForeignForm
  /** The ID that clients present beside the secret; null for a form without one. */
  readonly externalId: string | null
  /** The SHA-256 of the secret, as 64 lower-case hexadecimal digits. */
  readonly digest: Digest
}

/**
 * Precedes a token that was presented with the scheme `Token` instead of `Bearer`. No header can contain it, so that the same
 * text after `Bearer` is another token.
 */
export const TOKEN_SCHEME = 'Token\0'

/** Returns the problem with the ID of a token in another system as one sentence, or null when a client can present it. */
export function externalIdProblem(externalId: string): string | null {
  const length = codePoints(externalId)
  if (length < 1 || length > 64) return 'Must have 1 to 64 characters.'
  return lineProblem(externalId)
}
