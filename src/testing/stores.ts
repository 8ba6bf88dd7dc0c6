import { it } from 'node:test'
import type { Customers } from '../application/ports/customers.ts'
import type { LoginTokens } from '../application/ports/login-tokens.ts'
import type { Customer } from '../domain/customer.ts'
import type { Digest, LoginToken } from '../domain/login-token.ts'
import { aCustomer, aDigest, aLoginToken, aPasswordHash } from './builders.ts'

/** The two stores of one database, empty when they are handed out. */
export interface Stores {
  readonly customers: Customers
  readonly loginTokens: LoginTokens
  /** Called when the sentence is done, whether it holds or not. */
  dispose(): Promise<void>
}

/** Gives fresh stores to each sentence of a contract; the sentences of a file run one after the other. */
export type CreateStores = () => Promise<Stores>

/** How long a store may take: tests run beside one another, on a machine that has other things to do. */
export const TIMEOUT_MS = 30_000

/** A sentence that an adapter keeps waiting for so long fails, by its name; most take milliseconds. */
export const SENTENCE = { timeout: 120_000 }

/** Declares sentences of a contract; each has stores of its own. */
export function sentencesOn(
  create: CreateStores,
): (says: string, check: (stores: Stores) => Promise<void>) => void {
  return (says, check) => {
    it(says, SENTENCE, async () => {
      const stores = await create()
      try {
        await check(stores)
      } finally {
        await stores.dispose()
      }
    })
  }
}

/** A customer who is stored, with the hash that logins are verified against. */
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

/** A token with the digest by which it is found. */
export interface StoredToken {
  readonly token: LoginToken
  readonly digest: Digest
}

/** Logs the customer in; `revoked` is what the store answered: how many, or null where the login was not accepted. */
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

/** Stores a named token beside the customer's others. */
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

/** The customer's tokens that are not revoked, as the store lists them. */
export async function unrevoked({ loginTokens }: Stores, customerId: string): Promise<readonly LoginToken[]> {
  const tokens = await loginTokens.listByCustomer(customerId, TIMEOUT_MS)
  return tokens.filter(({ revokedAtMs }) => revokedAtMs === null)
}
