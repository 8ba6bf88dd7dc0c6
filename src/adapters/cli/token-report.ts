import { type LoginToken, tokenState } from '../../domain/login-token.ts'
import { printable, printableTime } from './printable.ts'
import { createTable } from './table.ts'

/** A token of the table. `ownerEmail` is set in a list of all customers. */
export interface ShownToken {
  readonly token: LoginToken
  readonly ownerEmail?: string
}

/** Returns a function that formats pages of tokens as lines of one table, without secrets and digests. */
export function createTokenTable(
  columns: 'with owners' | 'of one',
  nowMs: number,
): (tokens: readonly ShownToken[]) => string {
  const owner = (email: string) => (columns === 'with owners' ? [email] : [])
  // The abilities are the last column, because there may be many.
  const heading = ['ID', ...owner('EMAIL'), 'NAME', 'STATE', 'CREATED', 'LAST USED', 'EXPIRES', 'ABILITIES']
  const table = createTable(heading)
  return (tokens) =>
    table(
      tokens.map(({ token, ownerEmail = '' }) => [
        printable(token.id),
        ...owner(printable(ownerEmail)),
        printable(token.name),
        tokenState(token, nowMs),
        printableTime(token.createdAtMs),
        timeOrNever(token.lastUsedAtMs),
        timeOrNever(token.expiresAtMs),
        printable(token.abilities.join(' ') || '-'),
      ]),
    )
}

function timeOrNever(atMs: number | null): string {
  return atMs === null ? 'never' : printableTime(atMs)
}
