import type { LoginTokens, TokenPage } from '../../application/ports/login-tokens.ts'
import type { LoginToken } from '../../domain/login-token.ts'
import { byteOrder } from './customers.ts'
import type { MemoryStore } from './store.ts'

/** Returns the customer's tokens, newest first. */
export function selectByCustomer({ tokens }: MemoryStore, customerId: string): readonly LoginToken[] {
  return [...tokens.values()].filter((token) => token.customerId === customerId).sort(newestFirst)
}

/** Returns one page of all tokens with their owners' e-mails. */
export function selectPage(
  { customers, tokens }: MemoryStore,
  { after, limit }: Parameters<LoginTokens['list']>[0],
): TokenPage {
  const from: Position | null = after === null ? null : JSON.parse(after)
  const rest = [...tokens.values()]
    .map((token) => ({ token, ownerEmail: customers.get(token.customerId)?.customer.email ?? '' }))
    .filter((listed) => from === null || byOwner(toPosition(listed), from) > 0)
    .toSorted((a, b) => byOwner(toPosition(a), toPosition(b)))
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  return {
    tokens: page,
    end: last === undefined || rest.length <= limit ? null : JSON.stringify(toPosition(last)),
  }
}

/** The position of a token in the list of all tokens, even if it was deleted. */
interface Position extends Pick<LoginToken, 'id' | 'createdAtMs'> {
  readonly ownerEmail: string
}

function toPosition({ token: { id, createdAtMs }, ownerEmail }: TokenPage['tokens'][number]): Position {
  return { ownerEmail, createdAtMs, id }
}

function byOwner(a: Position, b: Position): number {
  return byteOrder(a.ownerEmail, b.ownerEmail) || newestFirst(a, b)
}

function newestFirst(a: Omit<Position, 'ownerEmail'>, b: Omit<Position, 'ownerEmail'>): number {
  return b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1)
}
