import assert from 'node:assert/strict'
import { randomIds } from '../../../src/adapters/node-crypto/ids.ts'
import { serviceSecrets } from '../../../src/adapters/node-crypto/service-secrets.ts'
import type { Deadline } from '../../../src/application/deadline.ts'
import type { CachedToken } from '../../../src/application/login-tokens/cached-token.ts'
import { invalidatingCustomers } from '../../../src/application/login-tokens/invalidating.ts'
import { UnknownTokenLimit } from '../../../src/application/login-tokens/unknown-token-limit.ts'
import type { Customers } from '../../../src/application/ports/customers.ts'
import type { Invalidations } from '../../../src/application/ports/invalidations.ts'
import type { LoginTokens } from '../../../src/application/ports/login-tokens.ts'
import type { Ports } from '../../../src/application/ports/ports.ts'
import {
  type Authenticate,
  createAuthenticate,
  createAuthenticateDigest,
} from '../../../src/application/use-cases/authenticate.ts'
import { createManageCustomers } from '../../../src/application/use-cases/manage-customers.ts'
import { fakePasswords, mapCache } from '../fakes.ts'
import { aRequester, idlePorts } from '../idle-ports.ts'
import type { Database } from './database.ts'
import type { History } from './history.ts'
import type { Machine } from './machine.ts'
import type { Run } from './run.ts'

/** The operations of a process for clients: production's use cases on a separate cache. */
export interface Service {
  readonly authenticate: Authenticate
  readonly authenticateForLogout: Authenticate
  readonly tokens: LoginTokens
  disable(customerId: string): Promise<number | null>
  /** Set by each lookup that is sent to the database. */
  hasAsked: boolean
}

export const DEADLINE: Deadline = { run: (call) => call(1000) }

export const REQUESTER = aRequester()

const CACHE_TTL_MS = 60_000

export function createService(
  { parts }: Run,
  history: History,
  { store, tokens, customers, call, change }: Database,
  machine: Machine,
  invalidations: Invalidations,
): Service {
  const { clock } = machine
  const remoteTokens: LoginTokens = {
    ...tokens,
    findByDigest(digest, timeoutMs) {
      service.hasAsked = true
      return call(machine, () => Promise.resolve(tokens.findByDigest(digest, timeoutMs)))
    },
    replace: (login, timeoutMs) =>
      call(machine, () => {
        const result = change(() => tokens.replace(login, timeoutMs))
        if (store.tokens.has(login.digest)) history.know(login.token, login.digest)
        return result
      }),
    revoke: (token, atMs, timeoutMs) =>
      call(machine, () => change(() => tokens.revoke(token, atMs, timeoutMs))),
  }
  const remoteCustomers: Customers = {
    ...customers,
    disable: (id, atMs, timeoutMs) =>
      call(machine, () => change(() => customers.disable(id, atMs, timeoutMs))),
  }
  const loginTokens = parts.cached(remoteTokens, mapCache<CachedToken>(clock), invalidations, clock, {
    ttlMs: CACHE_TTL_MS,
  })
  const ports: Ports = {
    customers: invalidatingCustomers(remoteCustomers, invalidations),
    loginTokens,
    invalidations,
    passwords: fakePasswords(),
    ...idlePorts(),
    secrets: { issue: () => assert.fail(), digestOf: (presented) => presented },
    serviceSecrets: serviceSecrets([]),
    clock,
    ids: randomIds,
  }
  const authenticate = createAuthenticate(
    ports,
    createAuthenticateDigest(ports, new UnknownTokenLimit(clock), null),
  )
  const service: Service = {
    authenticate,
    authenticateForLogout: parts.authenticateForLogout(ports, authenticate),
    tokens: loginTokens,
    disable: (id) => createManageCustomers(ports).disable(id, DEADLINE),
    hasAsked: false,
  }
  return service
}
