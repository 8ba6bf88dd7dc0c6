import type { Customers } from '../application/ports/customers.ts'
import type { LoginTokens, NewLogin } from '../application/ports/login-tokens.ts'
import type { OneTimeTokens } from '../application/ports/one-time-tokens.ts'
import type { Customer } from '../domain/customer.ts'
import type { Digest, LoginToken } from '../domain/login-token.ts'
import { aCustomer, aDigest, aLoginToken, aPasswordHash } from './builders.ts'
import type { Release } from './holds.ts'
import { type SkippableContext, type TestRunner, withTimeout } from './runner.ts'

/**
 * The two stores of one database, initially empty, and functions that disturb them as another process or the network does.
 * Without one of these functions, its tests are skipped.
 */
export interface Stores {
  readonly customers: Customers
  readonly loginTokens: LoginTokens
  /** Makes the database stop responding, such as by a proxy that holds its connections, until it is released. */
  readonly stall?: () => Promise<Release>
  /** Locks the row of a token, as a transaction of another process does. The lock may cover more. */
  readonly lockToken?: (id: string) => Promise<Release>
  /** Holds what a prune of another process holds. Left out when a prune cannot be interrupted. */
  readonly holdPrune?: () => Promise<Release>
  /** Called after the test, whether or not it passed. */
  dispose(): Promise<void>
}

/** The stores with those of one-time tokens, of the same database. */
export interface OneTimeStores extends Stores {
  readonly oneTimeTokens: OneTimeTokens
}

/** Creates empty stores for each test of a contract. The tests of a file run one after the other. */
export type CreateStores = () => Promise<Stores>

/** The timeout of a store in milliseconds. It is long because test files run in parallel. */
export const TIMEOUT_MS = 30_000

/** A function of `Stores` that disturbs them. */
type Disturbance = 'stall' | 'lockToken' | 'holdPrune'

/** Returns the functions that declare the suite of a contract and its tests, each with its own stores. */
export function sentencesOn<Own extends Stores>(create: () => Promise<Own>, runner: TestRunner | undefined) {
  const { describe, it } = withTimeout(runner)
  return { describe, sentence, disturbed }

  function sentence(title: string, check: (stores: Own, context: SkippableContext) => Promise<void>): void {
    it(title, async (context) => {
      const stores = await create()
      try {
        await check(stores, context)
      } finally {
        await stores.dispose()
      }
    })
  }

  /** Declares a test that needs a disturbance of the stores, and is skipped without it. */
  function disturbed<Name extends Disturbance>(
    name: Name,
    title: string,
    check: (stores: Own, disturb: NonNullable<Stores[Name]>) => Promise<void>,
  ): void {
    sentence(title, async (stores, { skip }) => {
      const disturb: Stores[Name] = stores[name]
      if (disturb === undefined) return skip(`The stores have no function ${name}.`)
      await check(stores, disturb)
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

/** Logs the customer in. `revoked` is the number of revoked tokens, or why the store did not accept the login. */
export async function login(
  { loginTokens }: Stores,
  { id, passwordHash }: StoredCustomer,
  different: Partial<LoginToken> = {},
  admit?: NewLogin['admit'],
): Promise<StoredToken & { readonly accepted: boolean; readonly revoked: number | 'full' | null }> {
  const token = aLoginToken({ customerId: id, ...different })
  const digest = aDigest()
  const entry = { token, digest, verifiedHash: passwordHash, ...(admit && { admit }) }
  const revoked = await loginTokens.replace(entry, TIMEOUT_MS)
  return { token, digest, revoked, accepted: typeof revoked === 'number' }
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
