import { randomBytes, randomUUID } from 'node:crypto'
import type { Customer } from '../domain/customer.ts'
import type { Digest, LoginToken } from '../domain/login-token.ts'

/** Returns a customer who may log in, with a unique e-mail. */
export function aCustomer(different: Partial<Customer> = {}): Customer {
  const id = different.id ?? randomUUID()
  return {
    id,
    email: `${id}@example.com`,
    name: 'Ada',
    createdAtMs: Date.now(),
    disabledAtMs: null,
    ...different,
  }
}

/** Returns a whole password hash that matches no known password. */
export function aPasswordHash(): string {
  return `$2b$04$${randomBytes(40).toString('hex').slice(0, 53)}`
}

/** Returns an active login token that expires in a day. */
export function aLoginToken(different: Partial<LoginToken> & Pick<LoginToken, 'customerId'>): LoginToken {
  const createdAtMs = different.createdAtMs ?? Date.now()
  return {
    id: randomUUID(),
    name: 'login',
    abilities: ['*'],
    createdAtMs,
    expiresAtMs: createdAtMs + 86_400_000,
    revokedAtMs: null,
    lastUsedAtMs: null,
    device: null,
    ...different,
  }
}

/** Returns a unique digest. */
export function aDigest(): Digest {
  return randomBytes(32).toString('hex')
}
