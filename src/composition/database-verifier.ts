import { randomUUID } from 'node:crypto'
import { readConfiguration } from '../adapters/config/read-configuration.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import { boundCalls } from '../application/bounded-calls.ts'
import type { Database } from '../application/ports/database.ts'
import type { Log } from '../application/ports/log.ts'
import type { Caller } from '../application/use-cases/authenticate.ts'
import { createUseCases } from '../application/use-cases/use-cases.ts'
import { type Verified, type Verifier, VerifierUnavailable } from '../application/verifiers/verifier.ts'
import { InvalidToken, TooManyUnknownTokens, Unavailable } from '../domain/errors.ts'
import { isPromise } from '../lib/maybe-promise.ts'
import { createPorts } from './ports.ts'
import { postgresDatabase } from './postgres-database.ts'
import { openTokenUsage } from './token-upkeep.ts'

/** The options of a verifier that has the database of the service. */
export interface DatabaseVerifierOptions {
  /** The service's `DATABASE_URL`. Its schema must be current: a verifier migrates nothing. */
  readonly databaseUrl: string
  /**
   * Further settings of the service. `TOKEN_IDLE_TTL` and `FOREIGN_TOKENS` must be those of the service,
   * because they decide which tokens are valid; `DATABASE_DIRECT_URL` and `TOKEN_CACHE_TTL` may be. Default: none.
   */
  readonly settings?: Readonly<Record<string, string>>
  /** Default: PostgreSQL. */
  readonly database?: Database
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {}, fatal() {} } as unknown as Log

/** Opens the authentication of a service (cache, lease and revocation) without HTTP. */
export async function openDatabaseVerifier({
  databaseUrl,
  settings = {},
  database: kind = postgresDatabase(),
}: DatabaseVerifierOptions): Promise<Verifier> {
  const env = { ...settings, DATABASE_URL: databaseUrl, MIGRATE: 'off' }
  const { configuration } = readConfiguration({ env, dotEnv: null })
  const clock = systemClock
  const database = await kind.open('service', { configuration, log: SILENT, clock })
  const audit = { record() {} }
  const loginTokens = boundCalls(database.loginTokens, clock)
  const usage = openTokenUsage({ configuration, loginTokens, clock, custom: undefined, log: SILENT })
  const ports = createPorts(database, {
    configuration,
    role: 'service',
    adapters: { usage },
    audit,
    log: SILENT,
  })
  const useCases = createUseCases(ports, configuration)
  const signal = new AbortController().signal

  return {
    verify(token, { address = 'verifier' } = {}) {
      try {
        const requester = { requestId: randomUUID(), address, signal }
        const found = useCases.authenticate(token, useCases.deadline(), requester)
        return isPromise(found) ? found.then(present, refused) : present(found)
      } catch (error) {
        return refused(error)
      }
    },
    isCaching: () => ports.invalidations.isCurrent(),
    async close() {
      await usage.close()
      await database.close()
    },
  }
}

function present({ token, customer }: Caller): Verified {
  return {
    customerId: customer.id,
    email: customer.email,
    tokenName: token.name,
    abilities: token.abilities,
    expiresAtMs: token.expiresAtMs,
  }
}

function refused(error: unknown): null {
  if (error instanceof InvalidToken) return null
  if (error instanceof TooManyUnknownTokens)
    throw new VerifierUnavailable('Too many unknown tokens.', error.limit.retryAfterMs)
  if (error instanceof Unavailable) throw new VerifierUnavailable('The database cannot respond right now.')
  throw error
}
