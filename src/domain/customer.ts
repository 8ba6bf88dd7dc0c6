import { codePoints, lineProblem } from './text.ts'

/** A customer, who may log in. Times are milliseconds since the Unix epoch. */
export interface Customer {
  readonly id: string
  /** In the case that the operator stored; lookups fold ASCII case. */
  readonly email: string
  readonly name: string | null
  readonly createdAtMs: number
  /** Null while the customer is enabled: logins and tokens are accepted. */
  readonly disabledAtMs: number | null
}

const WHITE_SPACE = '\t\n\f\r '

/** Characters without a glyph, the blank Braille pattern, substitutes of lost ones, and white space but the plain space. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}\u2800\ufffc\ufffd]|(?! )\p{White_Space}/u

/** Returns the problem with an e-mail as one sentence, or null when it is valid. */
export function emailProblem(email: string): string | null {
  const length = codePoints(email)
  if (length < 1 || length > 254) return 'Must have 1 to 254 characters.'
  return lineProblem(email)
}

/**
 * Returns the problem with an e-mail that an operator stores as one sentence, or null. Stricter than `emailProblem`: the
 * owner could not type a character that cannot be seen. Customers who were stored earlier can still log in.
 */
export function newEmailProblem(email: string): string | null {
  return (
    emailProblem(email) ??
    (UNSEEN.test(email) ? 'Must not contain invisible characters or special spaces.' : null) ??
    (/^[^@].*@.*[^@]$/su.test(email) ? null : 'Must contain an @ with text before and after it.')
  )
}

/** Returns the problem with a name as one sentence, or null when it is valid. */
export function nameProblem(name: string): string | null {
  if (codePoints(name) > 200) return 'Must have at most 200 characters.'
  return lineProblem(name)
}

/** Returns the e-mail without ASCII white space at its ends: the form that is stored. */
export function trimmedEmail(email: string): string {
  // Not a regular expression: one that ends in `[…]+$` takes quadratic time on a long run of blanks in the middle.
  let start = 0
  let end = email.length
  while (start < end && WHITE_SPACE.includes(email.charAt(start))) start++
  while (end > start && WHITE_SPACE.includes(email.charAt(end - 1))) end--
  return email.slice(start, end)
}

/** Returns the form in which e-mails are compared: trimmed, with ASCII letters in lower case and no other change. */
export function foldedEmail(email: string): string {
  return trimmedEmail(email).replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
