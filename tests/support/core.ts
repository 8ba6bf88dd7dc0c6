import { memoryCustomers } from '../../src/adapters/memory/customers.ts'
import { memoryInvalidations } from '../../src/adapters/memory/invalidations.ts'
import { memoryLoginTokens } from '../../src/adapters/memory/login-tokens.ts'
import { memoryOneTimeTokens } from '../../src/adapters/memory/one-time-tokens.ts'
import { type MemoryStore, memoryStore } from '../../src/adapters/memory/store.ts'
import { randomIds } from '../../src/adapters/node-crypto/ids.ts'
import { serviceSecrets } from '../../src/adapters/node-crypto/service-secrets.ts'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { invalidatingCustomers } from '../../src/application/login-tokens/invalidating.ts'
import type { Invalidation } from '../../src/application/ports/invalidations.ts'
import type { Ports } from '../../src/application/ports/ports.ts'
import type { Requester } from '../../src/application/requester.ts'
import type { Authenticate } from '../../src/application/use-cases/authenticate.ts'
import type { Login } from '../../src/application/use-cases/login.ts'
import type { Logout } from '../../src/application/use-cases/logout.ts'
import { createUseCases, type Settings, type UseCases } from '../../src/application/use-cases/use-cases.ts'
import type { Customer } from '../../src/domain/customer.ts'
import type { LoginToken } from '../../src/domain/login-token.ts'
import { aCustomer, aLoginToken } from '../../src/testing/builders.ts'
import { type MovableClock, movableClock } from '../../src/testing/movable-clock.ts'
import { type Recorded, recordingAuditLog } from '../../src/testing/recorded.ts'
import { type FakePasswords, fakePasswords, hashOf } from './fakes.ts'
import { aRequester, idlePorts } from './idle-ports.ts'

/** A use case call whose requester is optional. */
type Asked<UseCase> = UseCase extends (input: infer Input, deadline: infer P, requester: infer R) => unknown
  ? [input: Input, deadline: P, requester?: R]
  : never

/** The only service token of `memoryCore`. */
export const SERVICE = {
  name: 'monitor',
  scopes: ['status', 'reports'],
  secret: 'k7Qw-3._~+/ZxN0pLmRtYvBsDfGhJcXa',
}

/** The use cases on in-memory ports, with the state that tests read or change. */
export interface Core
  extends Omit<UseCases, 'login' | 'authenticate' | 'logout' | 'passwords' | 'verifyServiceToken'> {
  readonly passwordChanges: UseCases['passwords']
  login(...args: Asked<Login>): ReturnType<Login>
  authenticate(...args: Asked<Authenticate>): ReturnType<Authenticate>
  logout(...args: Asked<Logout>): ReturnType<Logout>
  /** Requires no scope by default. */
  verifyServiceToken(presented: string | null, required?: readonly string[], requester?: Requester): string
  readonly ports: Ports
  readonly store: MemoryStore
  readonly clock: MovableClock
  readonly passwords: FakePasswords
  /** All invalidations that were published so far. */
  readonly announced: readonly Invalidation[]
  /** All events that were written to the audit log so far. */
  readonly recorded: Recorded[]
  /** Stores a customer with the password `right`, or with none. */
  customer(different?: Partial<Customer>, password?: string | null): Promise<Customer>
  /** Stores a token of that customer. Returns its secret. */
  token(
    customer: Customer,
    different?: Partial<LoginToken>,
  ): Promise<{ readonly secret: string; readonly token: LoginToken }>
}

export function memoryCore(
  replaced: (ports: Ports) => Partial<Ports> = () => ({}),
  settings: Partial<Settings> = {},
): Core {
  const store = memoryStore()
  const clock = movableClock()
  const passwords = fakePasswords()
  const announced: Invalidation[] = []
  const audit = recordingAuditLog()
  const invalidations = memoryInvalidations()
  const memory: Ports = {
    customers: memoryCustomers(store),
    loginTokens: memoryLoginTokens(store),
    invalidations,
    passwords,
    ...idlePorts(),
    oneTimeTokens: memoryOneTimeTokens(store),
    audit,
    secrets: tokenSecrets({ prefix: 'lk' }),
    serviceSecrets: serviceSecrets([SERVICE]),
    clock,
    ids: randomIds,
  }
  invalidations.subscribe((invalidation) => announced.push(invalidation))
  const given = { ...memory, ...replaced(memory) }
  const ports = { ...given, customers: invalidatingCustomers(given.customers, given.invalidations) }
  const useCases = createUseCases(ports, { tokenTtlMs: 3_600_000, loginLimitAccount: null, ...settings })
  return {
    ...useCases,
    login: (credentials, deadline, requester = aRequester()) =>
      useCases.login(credentials, deadline, requester),
    authenticate: (presented, deadline, requester = aRequester()) =>
      useCases.authenticate(presented, deadline, requester),
    logout: (caller, deadline, requester = aRequester()) => useCases.logout(caller, deadline, requester),
    verifyServiceToken: (presented, required = [], requester = aRequester()) =>
      useCases.verifyServiceToken(presented, required, requester),
    passwordChanges: useCases.passwords,
    ports,
    store,
    clock,
    passwords,
    announced,
    recorded: audit.recorded,
    async customer(different = {}, password = 'right') {
      const customer = aCustomer(different)
      const passwordHash = password === null ? null : hashOf(password)
      if (!(await memory.customers.add({ customer, passwordHash }, 1000)))
        throw new Error('The e-mail is taken.')
      return customer
    },
    async token(customer, different = {}) {
      const { secret, digest } = memory.secrets.issue()
      const token = aLoginToken({ customerId: customer.id, createdAtMs: clock.nowMs(), ...different })
      if (!(await memory.loginTokens.add(token, digest, 1000))) throw new Error('The token was not stored.')
      return { secret, token }
    },
  }
}

/** A well-formed secret that no customer has. */
export function anUnknownSecret(): string {
  return tokenSecrets({ prefix: 'lk' }).issue().secret
}

/** An unreachable store. It records every call. */
export function unreachable<Port extends object>(error: Error): { readonly port: Port; calls: string[] } {
  const calls: string[] = []
  const port = new Proxy({} as Port, {
    get: (_, name) => async () => {
      calls.push(String(name))
      throw error
    },
  })
  return { port, calls }
}
