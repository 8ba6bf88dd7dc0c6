import { bcryptPasswordHasher } from '../src/adapters/bcrypt/password-hasher.ts'
import type { Route } from '../src/adapters/http/routing/declared-route.ts'
import { route } from '../src/adapters/http/routing/route.ts'
import { memoryInvalidations } from '../src/adapters/memory/invalidations.ts'
import { nodeCache } from '../src/adapters/node-cache/cache.ts'
import { randomIds } from '../src/adapters/node-crypto/ids.ts'
import { serviceSecrets } from '../src/adapters/node-crypto/service-secrets.ts'
import { tokenSecrets } from '../src/adapters/node-crypto/token-secrets.ts'
import { postgresCustomers } from '../src/adapters/postgres/customers.ts'
import { postgresLoginTokens } from '../src/adapters/postgres/login-tokens.ts'
import { systemClock } from '../src/adapters/system-clock/clock.ts'
import type { Deadline } from '../src/application/deadline.ts'
import { cachedLoginTokens } from '../src/application/login-tokens/cached.ts'
import type { CachedToken } from '../src/application/login-tokens/cached-token.ts'
import {
  invalidatingCustomers,
  invalidatingLoginTokens,
} from '../src/application/login-tokens/invalidating.ts'
import type { Customers } from '../src/application/ports/customers.ts'
import type { LoginTokens } from '../src/application/ports/login-tokens.ts'
import type { Ports } from '../src/application/ports/ports.ts'
import type { ManageCustomers } from '../src/application/use-cases/manage-customers.ts'
import { createUseCases } from '../src/application/use-cases/use-cases.ts'
import type { Customer } from '../src/domain/customer.ts'
import { Unavailable } from '../src/domain/errors.ts'
import { authenticates, type LoginToken } from '../src/domain/login-token.ts'
import { aLoginToken } from '../src/testing/builders.ts'
import type { CallOptions } from '../src/testing/call.ts'
import { idlePorts } from '../tests/support/idle-ports.ts'
import { PASSWORD, type RunningApp, SERVICE_SECRET } from '../tests/support/running-app.ts'
import type { FaultyPorts } from './faulty-ports.ts'

const UNHURRIED_MS = 10_000
const OTHER_PASSWORD = 'battery staple 10'
const secrets = tokenSecrets({ prefix: 'lk' })

/** The token port behind the cache. The one of the use cases has its name in `Ports`. */
export const STORED = 'stored loginTokens'

/** A service whose ports may fail, and the underlying stores, which do not. */
export interface Stage {
  readonly app: RunningApp
  readonly customers: Customers
  readonly loginTokens: LoginTokens
}

/** Makes a request. Returns its status, or for a use case the status that a request would get. */
type Ask = (requestId?: string) => Promise<number>

/** A repeatable request and its correct outcome. */
export interface Play {
  readonly ask: Ask
  /** The correct status. 200 by default. */
  readonly right?: number
  /** The correct status of a repetition. The same as for the first time by default. */
  readonly again?: number
  /** Whether the database shows its effect. */
  readonly done?: () => Promise<boolean>
}

/** Prepares a request of its kind by or about an actor. */
export type Kind = (actor: Actor) => Play | Promise<Play>

/** Routes of an implementer. */
export const ownRoutes = (): readonly Route[] => [
  route('GET /orders', { auth: 'customer', abilities: ['orders:read'], handle: () => ({ orders: [] }) }),
]

/**
 * Replaces the use cases of a running service. The invalidations are those of one process, because the triggers'
 * notifications would hide that the service does not apply its own change.
 */
export function stageOn(app: RunningApp, { named }: FaultyPorts): Stage {
  const { useCases } = app.service
  const customers = postgresCustomers(app.pool)
  const loginTokens = postgresLoginTokens(app.pool)
  const invalidations = named('invalidations', memoryInvalidations())
  const cache = named('cache', nodeCache<CachedToken>({ maxEntries: 100_000 }))
  const clock = named('clock', systemClock)
  const stored = named(STORED, loginTokens)
  const hasher = bcryptPasswordHasher({ cost: 4 })
  const ports: Ports = {
    customers: invalidatingCustomers(named('customers', customers), invalidations),
    loginTokens: named(
      'loginTokens',
      cachedLoginTokens(invalidatingLoginTokens(stored, invalidations), cache, invalidations, clock, {
        ttlMs: 60_000,
      }),
    ),
    invalidations,
    ...idlePorts(),
    passwords: named('passwords', {
      ...hasher,
      queue: (request) => named('hashing', hasher.queue(request)),
    }),
    throttle: named('throttle', idlePorts().throttle),
    audit: named('audit', idlePorts().audit),
    secrets: named('secrets', secrets),
    serviceSecrets: named(
      'serviceSecrets',
      serviceSecrets([{ name: 'tests', scopes: ['status'], secret: SERVICE_SECRET }]),
    ),
    clock,
    ids: named('ids', randomIds),
  }
  Object.assign(useCases, createUseCases(ports, { tokenTtlMs: 3_600_000, loginLimitAccount: null }))
  return { app, customers, loginTokens }
}

/** A logged-in customer whose token the service has cached. */
export interface Actor {
  readonly customer: Customer
  readonly token: string
  /** Every token of the customer so far. */
  readonly tokens: string[]
  call(path: string, options: CallOptions): Ask
  login(email: string, password: string): Ask
  operator(use: (customers: ManageCustomers, deadline: Deadline) => Promise<unknown>): Ask
  /** Stores an additional token. */
  addToken(different: Partial<LoginToken>): Promise<string>
  /** The value in the database, whatever the service does. */
  passwordHash(): Promise<string | null>
  found(email?: string): Promise<Customer | null>
  isLive(secret: string): Promise<boolean>
  liveLogins(): Promise<number>
}

export async function createActor({ app, customers, loginTokens }: Stage): Promise<Actor> {
  const customer = await app.addCustomer()
  const { id, email } = customer
  const token = await app.login(email)
  await app.call('/api/me', { token })
  const tokens = [token]

  return {
    customer,
    token,
    tokens,
    call: (path, options) => async (requestId) =>
      (await app.call(path, { ...options, ...identified(requestId) })).status,
    login: (email, password) => async (requestId) => {
      const { status, body } = await app.call('/api/login', {
        body: { email, password },
        ...identified(requestId),
      })
      if (status === 200) tokens.push(body.token)
      return status
    },
    operator: (use) => async () => {
      const { useCases } = app.service
      try {
        const response = await use(useCases.customers, useCases.deadline())
        return response === null || response === false ? 404 : 200
      } catch (error) {
        return error instanceof Unavailable ? 503 : 500
      }
    },
    async addToken(different) {
      const { secret, digest } = secrets.issue()
      await loginTokens.add(aLoginToken({ customerId: id, name: 'bot', ...different }), digest, UNHURRIED_MS)
      tokens.push(secret)
      return secret
    },
    passwordHash: async () => (await customers.findByEmail(email, UNHURRIED_MS))?.passwordHash ?? null,
    found: async (other = email) => (await customers.findByEmail(other, UNHURRIED_MS))?.customer ?? null,
    async isLive(secret) {
      const owned = await loginTokens.findByDigest(secrets.digestOf(secret) ?? '', UNHURRIED_MS)
      return owned !== null && authenticates(owned, Date.now())
    },
    liveLogins: async () =>
      (await loginTokens.listByCustomer(id, UNHURRIED_MS)).filter(
        ({ name, revokedAtMs }) => name === 'login' && revokedAtMs === null,
      ).length,
  }
}

function identified(requestId: string | undefined): CallOptions {
  return requestId === undefined ? {} : { headers: { 'X-Request-Id': requestId } }
}

/** Every kind of request. */
export const REQUESTS: Readonly<Record<string, Kind>> = {
  async login(actor) {
    await actor.call('/api/logout', { token: actor.token })()
    return login(actor)
  },
  'login that replaces': login,
  'login, wrong password': ({ customer, login }) => ({
    ask: login(customer.email, OTHER_PASSWORD),
    right: 401,
  }),
  'login, unknown e-mail': ({ customer, login }) => ({
    ask: login(`no-${customer.email}`, PASSWORD),
    right: 401,
  }),
  async 'login, disabled'({ customer, login, operator }) {
    await operator(({ disable }, deadline) => disable(customer.id, deadline))()
    return { ask: login(customer.email, PASSWORD), right: 401 }
  },
  async 'me, from the database'({ call, addToken }) {
    return { ask: call('/api/me', { token: await addToken({}) }) }
  },
  'me, cached': ({ token, call }) => ({ ask: call('/api/me', { token }) }),
  async 'me, revoked'({ token, call }) {
    await call('/api/logout', { token })()
    return { ask: call('/api/me', { token }), right: 401 }
  },
  async 'me, expired'({ call, addToken }) {
    return { ask: call('/api/me', { token: await addToken({ expiresAtMs: Date.now() }) }), right: 401 }
  },
  logout,
  async 'logout, not cached'(actor) {
    await actor.login(actor.customer.email, PASSWORD)()
    return logout({ ...actor, token: actor.tokens.at(-1) ?? '' })
  },
  async 'logout, revoked'({ token, call }) {
    await call('/api/logout', { token })()
    return { ask: call('/api/logout', { token }), right: 401 }
  },
  async 'own route'({ call, addToken }) {
    const token = await addToken({ abilities: ['orders:*'] })
    return { ask: call('/api/orders', { method: 'GET', token }) }
  },
  async 'own route, without the ability'({ call, addToken }) {
    const token = await addToken({ abilities: ['invoices:*'] })
    return { ask: call('/api/orders', { method: 'GET', token }), right: 403 }
  },
  status: ({ call }) => ({ ask: call('/api/status', { method: 'GET', token: SERVICE_SECRET }) }),
  'status, wrong secret': ({ call }) => ({
    ask: call('/api/status', { method: 'GET', token: `${SERVICE_SECRET}x` }),
    right: 401,
  }),
  readyz: ({ call }) => ({ ask: call('/readyz', { method: 'GET' }) }),
}

/** The operations of operators, which have no routes yet. */
export const USE_CASES: Readonly<Record<string, Kind>> = {
  'add customer'({ customer, operator, found }) {
    const email = `new-${customer.email}`
    return {
      ask: operator(({ add }, deadline) =>
        add({ email, name: null, password: { password: PASSWORD } }, deadline),
      ),
      again: 404,
      done: async () => (await found(email)) !== null,
    }
  },
  'find customer': ({ customer, operator }) => ({
    ask: operator(({ find }, deadline) => find(customer.email, deadline)),
  }),
  async 'set password'({ customer, operator, passwordHash }) {
    const before = await passwordHash()
    return {
      ask: operator(({ setPassword }, deadline) =>
        setPassword(customer.id, { password: OTHER_PASSWORD }, deadline),
      ),
      done: async () => (await passwordHash()) !== before,
    }
  },
  disable: ({ customer, operator, found }) => ({
    ask: operator(({ disable }, deadline) => disable(customer.id, deadline)),
    done: async () => (await found())?.disabledAtMs !== null,
  }),
  async enable({ customer, operator, found }) {
    await operator(({ disable }, deadline) => disable(customer.id, deadline))()
    return {
      ask: operator(({ enable }, deadline) => enable(customer.id, deadline)),
      done: async () => (await found())?.disabledAtMs === null,
    }
  },
  'delete customer': ({ customer, operator, found }) => ({
    ask: operator(({ delete: remove }, deadline) => remove(customer.id, deadline)),
    again: 404,
    done: async () => (await found()) === null,
  }),
}

function login({ customer, tokens, login, isLive }: Actor): Play {
  const earlier = tokens.length
  return {
    ask: login(customer.email, PASSWORD),
    // An issued token must be valid.
    done: async () => tokens.length > earlier && (await isLive(tokens.at(-1) ?? '')),
  }
}

function logout({ token, call, isLive }: Actor): Play {
  return {
    ask: call('/api/logout', { token }),
    again: 401,
    done: async () => !(await isLive(token)),
  }
}
