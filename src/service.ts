import { accessLog } from './adapters/access-log/access-log.ts'
import { blockWriter, type Lines } from './adapters/access-log/block-writer.ts'
import { bcryptPasswordHasher } from './adapters/bcrypt/password-hasher.ts'
import { type CachedToken, cachedLoginTokens } from './adapters/caching/login-tokens.ts'
import type { Configuration } from './adapters/config/configuration.ts'
import { builtInRoutes, probeRoutes } from './adapters/http/built-in-routes.ts'
import type { Route } from './adapters/http/route.ts'
import { freeAddress, type RunningServer, startServer } from './adapters/http/server.ts'
import { nodeCache } from './adapters/node-cache/cache.ts'
import { isWorker } from './adapters/node-cluster/workers.ts'
import { randomIds } from './adapters/node-crypto/ids.ts'
import { serviceSecrets } from './adapters/node-crypto/service-secrets.ts'
import { tokenSecrets } from './adapters/node-crypto/token-secrets.ts'
import { readable } from './adapters/pino/log.ts'
import { postgresCustomers } from './adapters/postgres/customers.ts'
import { type PostgresInvalidations, postgresInvalidations } from './adapters/postgres/invalidations.ts'
import { postgresLoginTokens } from './adapters/postgres/login-tokens.ts'
import type { DatabasePool } from './adapters/postgres/pool.ts'
import { postgresReadiness } from './adapters/postgres/readiness.ts'
import { systemClock } from './adapters/system-clock/clock.ts'
import { announcedLoginTokens } from './application/announced.ts'
import { type Latchkey, latchkey, STORE_WAIT_MS } from './application/latchkey.ts'
import type { Invalidations, Log, LoginTokens, Ports } from './application/ports.ts'
import { type Database, openDatabase } from './database.ts'

/** What a service is composed of. */
export interface ServiceOptions {
  readonly configuration: Configuration
  readonly log: Log
  /** Where the lines of the access log go; standard output where it is not given. */
  readonly accessLines?: Lines
  /** The version of the package, reported where none is configured. */
  readonly version: string
  /** Routes of one's own, beside the built-in ones. */
  readonly routes?: (latchkey: Latchkey) => readonly Route[]
}

/** A service that accepts requests. */
export interface Service {
  readonly url: string
  readonly database: Database
  readonly latchkey: Latchkey
  readonly invalidations: Invalidations
  /** Drains the server and closes the database; `delay: false` skips the time for balancers to notice. */
  stop(options: { readonly delay: boolean }): Promise<void>
}

/** Composes a service of the configured adapters and starts it: the one call of this program and of an implementer's. */
export async function startService({
  configuration,
  log,
  accessLines,
  version,
  routes,
}: ServiceOptions): Promise<Service> {
  // Where it is taken, nothing is made or started. Workers share an address that their primary has looked at.
  if (!isWorker) await freeAddress(configuration)
  const database = await openDatabase(configuration, 'service', log)
  const invalidations = openInvalidations(configuration, database, log)
  async function closeStores(): Promise<void> {
    await invalidations.close()
    await database.close()
  }
  try {
    const keys = latchkey(postgresPorts(configuration, database.pool, invalidations), configuration)
    const readiness = postgresReadiness(database.pool)
    const table = [
      ...builtInRoutes(keys, {
        version: configuration.appVersion ?? version,
        keepsAnswers: configuration.tokenCacheTtlMs > 0,
      }),
      ...probeRoutes(async () => !server.draining() && (await readiness.ready(STORE_WAIT_MS))),
      ...(routes?.(keys) ?? []),
    ]
    const access = openAccessLog(configuration, accessLines)
    const server: RunningServer = await startServer(table, keys, log, access, configuration)
    process.on('exit', access.close)
    return {
      url: configuration.publicUrl ?? server.url,
      database,
      latchkey: keys,
      invalidations,
      async stop({ delay }) {
        await server.drain({
          delayMs: delay ? configuration.drainDelayMs : 0,
          deadlineMs: configuration.drainDeadlineMs,
        })
        access.close()
        process.off('exit', access.close)
        await closeStores()
      },
    }
  } catch (error) {
    await closeStores()
    throw error
  }
}

function openAccessLog(
  { accessLog: mode, logLevel }: Configuration,
  lines = process.stdout.isTTY ? terminalLines() : blockWriter({ fd: process.stdout.fd, clock: systemClock }),
): ReturnType<typeof accessLog> {
  const showsInfo = logLevel === 'info' || logLevel === 'debug' || logLevel === 'trace'
  return accessLog({ mode: showsInfo ? mode : 'off', lines, clock: systemClock })
}

function terminalLines(): Lines {
  const terminal = readable()
  return { write: (line) => void terminal.write(line), close() {} }
}

function openInvalidations(
  { revocation }: Configuration,
  { url, directUrl }: Database,
  log: Log,
): PostgresInvalidations {
  return postgresInvalidations({
    url,
    directUrl,
    strict: revocation === 'strict',
    clock: systemClock,
    onEvent: ({ kind, detail }) => log[kind === 'resumed' ? 'info' : 'warn'](`cache.${kind}`, { detail }),
  })
}

/** The ports on PostgreSQL, with the cache in front of the look-up of tokens. */
export function postgresPorts(
  configuration: Configuration,
  pool: DatabasePool,
  invalidations: Invalidations,
): Ports {
  return {
    customers: postgresCustomers(pool),
    loginTokens: cached(postgresLoginTokens(pool)),
    invalidations,
    passwords: bcryptPasswordHasher({ cost: configuration.bcryptCost }),
    secrets: tokenSecrets({ prefix: configuration.tokenPrefix }),
    serviceSecrets: serviceSecrets(configuration.serviceTokens),
    clock: systemClock,
    ids: randomIds,
  }

  function cached(loginTokens: LoginTokens): LoginTokens {
    const { tokenCacheTtlMs, tokenCacheMax } = configuration
    // Other instances may keep what this one does not.
    if (tokenCacheTtlMs === 0) return announcedLoginTokens(loginTokens, invalidations)
    const cache = nodeCache<CachedToken>({ maxEntries: tokenCacheMax })
    return cachedLoginTokens(loginTokens, cache, invalidations, systemClock, { ttlMs: tokenCacheTtlMs })
  }
}
