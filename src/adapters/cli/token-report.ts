import { type LoginToken, tokenState } from '../../domain/login-token.ts'
import { jsonListing, type Listing, tableListing } from './json.ts'
import { tokenFields } from './json-fields.ts'
import { printable, printableTime } from './printable.ts'
import { createTable } from './table.ts'

/** A token of the list. `ownerEmail` is set in a list of all customers. */
interface ShownToken {
  readonly token: LoginToken
  readonly ownerEmail?: string
}

/** The columns, the time and the terminal of a list. */
interface TokenListOptions {
  readonly columns: 'with owners' | 'of one'
  readonly nowMs: number
  readonly maxWidth: number
}

/** Lists tokens page by page, as a table or as one JSON document, without secrets and digests. */
export function createTokenListing(json: boolean, options: TokenListOptions): Listing<ShownToken> {
  if (!json) return tableListing(createTokenTable(options))
  return jsonListing('tokens', ({ token, ownerEmail }) => ({
    ...tokenFields(token, options.nowMs),
    ...(ownerEmail === undefined ? {} : { email: ownerEmail }),
  }))
}

function createTokenTable({
  columns,
  nowMs,
  maxWidth,
}: TokenListOptions): (tokens: readonly ShownToken[]) => string {
  const owner = (email: string) => (columns === 'with owners' ? [email] : [])
  // The abilities are the last column, because there may be many.
  const heading = ['ID', ...owner('EMAIL'), 'NAME', 'STATE', 'CREATED', 'LAST USED', 'EXPIRES', 'ABILITIES']
  const table = createTable(heading, maxWidth)
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
