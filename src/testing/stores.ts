import { it } from 'node:test'
import type { Customers } from '../application/ports/customers.ts'
import type { LoginTokens } from '../application/ports/login-tokens.ts'
import type { Customer } from '../domain/customer.ts'
import type { Digest, LoginToken } from '../domain/login-token.ts'
import { aCustomer, aDigest, aLoginToken, aPasswordHash } from './builders.ts'

/** The two stores of one database, initially empty. */
export interface Stores {
  readonly customers: Customers
  readonly loginTokens: LoginTokens
  /** Called after the test, whether or not it passed. */
  dispose(): Promise<void>
}

/** Creates empty stores for each test of a contract. The tests of a file run one after the other. */
export type CreateStores = () => Promise<Stores>

/** The timeout of a store in milliseconds. It is long because test files run in parallel. */
export const TIMEOUT_MS = 30_000

/** The options of a contract test: its timeout. Most take milliseconds. */
export const SENTENCE = { timeout: 120_000 }

/** Returns a function that declares a test of a contract, with its own stores. */
export function sentencesOn(
  create: CreateStores,
): (title: string, check: (stores: Stores) => Promise<void>) => void {
  return (title, check) => {
    it(title, SENTENCE, async () => {
      const stores = await create()
      try {
        await check(stores)
      } finally {
        await stores.dispose()
      }
    })
  }
}

/** A stored customer with the password hash. */
export interface StoredCustomer extends Customer {
  readonly passwordHash: string
}

/** Stores a customer with a password. */
export async function storedCustomer(
  { customers }: Stores,
  different: Partial<Customer> = {},
): Promise<StoredCustomer> {
  const customer = aCustomer(different)
  const passwordHash = aPasswordHash()
  if (!(await customers.add({ customer, passwordHash }, TIMEOUT_MS))) throw new Error('The e-mail is taken.')
  return { ...customer, passwordHash }
}

/** A stored token with its digest. */
export interface StoredToken {
  readonly token: LoginToken
  readonly digest: Digest
}

/** Logs the customer in. `revoked` is the number of revoked tokens, or null when the store did not accept the login. */
export async function login(
  { loginTokens }: Stores,
  { id, passwordHash }: StoredCustomer,
  different: Partial<LoginToken> = {},
): Promise<StoredToken & { readonly accepted: boolean; readonly revoked: number | null }> {
  const token = aLoginToken({ customerId: id, ...different })
  const digest = aDigest()
  const revoked = await loginTokens.replace({ token, digest, verifiedHash: passwordHash }, TIMEOUT_MS)
  return { token, digest, revoked, accepted: revoked !== null }
}

/** Stores a named token of the customer. */
export async function namedToken(
  { loginTokens }: Stores,
  customer: Customer,
  different: Partial<LoginToken> = {},
): Promise<StoredToken> {
  const token = aLoginToken({ customerId: customer.id, name: 'bot', ...different })
  const digest = aDigest()
  if (!(await loginTokens.add(token, digest, TIMEOUT_MS))) throw new Error('The token was not stored.')
  return { token, digest }
}

/** Returns the customer's tokens that are not revoked, newest first. */
export async function unrevoked({ loginTokens }: Stores, customerId: string): Promise<readonly LoginToken[]> {
  const tokens = await loginTokens.listByCustomer(customerId, TIMEOUT_MS)
  return tokens.filter(({ revokedAtMs }) => revokedAtMs === null)
}
