import { randomBytes, randomUUID } from 'node:crypto'
import { LOGIN_TOKEN_NAME } from '../../src/domain/login-token.ts'

const DAY_MS = 86_400_000

/** A token that every customer has. Times are days before the filling; null is never. */
interface TokenTemplate {
  readonly name: string
  readonly created: number
  readonly expires: number | null
  readonly revoked: number | null
}

/** Oldest first, as a table receives them in the course of time. A login revokes the one before it. */
const TOKENS: readonly TokenTemplate[] = [
  { name: LOGIN_TOKEN_NAME, created: 300, expires: 270, revoked: 290 },
  { name: LOGIN_TOKEN_NAME, created: 290, expires: 260, revoked: 200 },
  { name: 'reports', created: 250, expires: null, revoked: null },
  { name: LOGIN_TOKEN_NAME, created: 200, expires: 170, revoked: 180 },
  { name: LOGIN_TOKEN_NAME, created: 180, expires: 150, revoked: 90 },
  { name: 'import', created: 120, expires: 30, revoked: null },
  { name: LOGIN_TOKEN_NAME, created: 90, expires: 60, revoked: 80 },
  { name: LOGIN_TOKEN_NAME, created: 80, expires: 50, revoked: 1 },
  { name: 'old phone', created: 60, expires: null, revoked: 20 },
  { name: LOGIN_TOKEN_NAME, created: 1, expires: -365, revoked: null },
]

export const TOKENS_PER_CUSTOMER = TOKENS.length

export const CUSTOMER_COLUMNS = 'id, email, name, password_hash, created_at'
export const TOKEN_COLUMNS =
  'id, customer_id, name, token_hash, abilities, created_at, expires_at, revoked_at'

/** Returns the e-mail of the customer with this number. All have one length, so that all responses have. */
export function emailOf(number: number): string {
  return `customer-${padded(number)}@example.com`
}

/** Yields a line of COPY for each customer. */
export function* customerLines(ids: readonly string[], passwordHash: string): Generator<string> {
  const created = timestamp(365)
  for (const [number, id] of ids.entries()) {
    yield `${id}\t${emailOf(number)}\tCustomer ${padded(number)}\t${passwordHash}\t${created}\n`
  }
}

/** Yields a line of COPY for each token. `digestOf` returns the digest of a customer's active login token, if it is known. */
export function* tokenLines(
  customerIds: readonly string[],
  digestOf: (number: number) => string | undefined,
): Generator<string> {
  const randomDigest = randomDigests()
  for (const token of TOKENS) {
    const isActiveLogin = token.name === LOGIN_TOKEN_NAME && token.revoked === null
    const abilities = token.name === LOGIN_TOKEN_NAME ? '{*}' : '{orders:read,orders:write}'
    const times = [token.created, token.expires, token.revoked].map(timestamp).join('\t')
    for (const [number, customerId] of customerIds.entries()) {
      const digest = (isActiveLogin ? digestOf(number) : undefined) ?? randomDigest()
      yield `${randomUUID()}\t${customerId}\t${token.name}\t\\\\x${digest}\t${abilities}\t${times}\n`
    }
  }
}

function padded(number: number): string {
  return String(number).padStart(9, '0')
}

function timestamp(daysAgo: number | null): string {
  return daysAgo === null ? '\\N' : new Date(Date.now() - daysAgo * DAY_MS).toISOString()
}

// Many at a time: reading 32 bytes from the system takes longer than the rest of a line.
function randomDigests(): () => string {
  let digits = ''
  let at = 0
  return () => {
    if (at === digits.length) {
      digits = randomBytes(32 * 2048).toString('hex')
      at = 0
    }
    at += 64
    return digits.slice(at - 64, at)
  }
}
