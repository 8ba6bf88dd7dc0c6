import type { UseCases } from '../application/use-cases/use-cases.ts'
import type { Customer } from '../domain/customer.ts'
import { type Called, type CallOptions, callAt } from './call.ts'

/** A customer of a test app, with the password in clear text. */
export interface TestCustomer extends Customer {
  readonly password: string
}

/** A client that sends a token with every request. */
export interface TestCaller {
  /** The secret of the token. */
  readonly secret: string
  /** Calls `POST <path>`, unless the options set another method; returns the response. */
  call(path: string, options?: CallOptions): Promise<Called>
}

/** Clients of a service, with the customers and tokens that they need. */
export interface TestClients {
  /** Calls `POST <path>`, unless the options set another method; returns the response. */
  call(path: string, options?: CallOptions): Promise<Called>
  /** Stores a customer; by default with a unique e-mail and a valid password. Throws when the e-mail is taken. */
  customer(different?: {
    readonly email?: string
    readonly name?: string | null
    readonly password?: string
  }): Promise<TestCustomer>
  /**
   * Creates a named token with these abilities, as `latchkey token create` does, and returns a client that sends it. Throws
   * when the customer is disabled or deleted.
   */
  as(
    customer: Pick<Customer, 'id'>,
    token: {
      readonly abilities: readonly string[]
      readonly name?: string
      /** Null, the default, for a token that never expires. */
      readonly expiresAtMs?: number | null
    },
  ): Promise<TestCaller>
}

/** Creates clients of the service at `address`. */
export function createTestClients(address: string, useCases: UseCases): TestClients {
  let customers = 0
  return {
    call: (path, options) => callAt(address, path, options),

    async customer(different = {}) {
      const {
        email = `customer-${++customers}@example.com`,
        name = 'Ada',
        password = 'correct horse 9',
      } = different
      const customer = await useCases.customers.add(
        { email, name, password: { password } },
        useCases.deadline(),
      )
      if (customer === null) throw new Error(`The e-mail ${email} is taken.`)
      return { ...customer, password }
    },

    async as({ id }, { abilities, name = 'tests', expiresAtMs = null }) {
      const created = await useCases.tokens.create(
        { customerId: id, name, abilities, expiresAtMs },
        useCases.deadline(),
      )
      if (created === null) throw new Error('The customer is disabled or deleted.')
      return testCaller(address, created.secret)
    },
  }
}

/** Returns a client that sends the secret. */
export function testCaller(address: string, secret: string): TestCaller {
  return { secret, call: (path, options) => callAt(address, path, { token: secret, ...options }) }
}
