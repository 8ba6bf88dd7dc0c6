import type { LoginLimit } from '../domain/login-limit.ts'
import type { ServiceToken } from '../domain/service-token.ts'

/** What the operator chose, checked and in units; see `settings.ts` for the meaning of each. */
export interface Configuration {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  /** Without a slash at its end; null for the listening address. */
  readonly publicUrl: string | null
  /** Null for the embedded PostgreSQL. */
  readonly databaseUrl: string | null
  /** Past any pooler; `databaseUrl` where no other was given. */
  readonly databaseDirectUrl: string | null
  readonly prepared: boolean
  readonly poolMax: number
  /** Null where the operator left the choice to the embedded PostgreSQL. */
  readonly dataDir: string | null
  readonly migrate: 'auto' | 'off'
  /** Processes that serve; with one the program serves by itself. */
  readonly workers: number
  readonly tokenPrefix: string
  /** Null for tokens that never expire. */
  readonly tokenTtlMs: number | null
  /** 0 for no cache. */
  readonly tokenCacheTtlMs: number
  readonly tokenCacheMax: number
  /** How long revoked and expired tokens are kept. */
  readonly tokenRetentionMs: number
  readonly tokenLastUsed: boolean
  readonly revocation: 'strict' | 'prompt'
  readonly serviceTokens: readonly ServiceToken[]
  /** Null for the version of the package. */
  readonly appVersion: string | null
  readonly bcryptCost: number
  /** Null for as many as there are processors, all workers together. */
  readonly hashingConcurrency: number | null
  /** Threads of libuv's pool, of which hashing takes some. */
  readonly threadPoolSize: number
  readonly refusesCommonPasswords: boolean
  /** Failed logins by account and address together; null for no limit. */
  readonly loginLimitAccount: LoginLimit | null
  readonly loginLimitAddress: LoginLimit | null
  /** Proxies in front whose entries of `X-Forwarded-For` are believed. */
  readonly trustedProxies: number
  readonly logLevel: LogLevel
  /** Which answers are told of, by lines of the level `info`. */
  readonly accessLog: 'failures' | 'all' | 'off'
  /** Whether the log has the messages of errors that are not the service's own. */
  readonly logErrorMessages: boolean
  /** Null for standard output. */
  readonly auditLog: string | null
  readonly bodyLimitBytes: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly drainDelayMs: number
  readonly drainDeadlineMs: number
  /** Whether the docs page and the document are served. */
  readonly docs: boolean
  readonly metricsHost: string
  /** 0 takes a free port; null for no listener of their own. */
  readonly metricsPort: number | null
  /** Whether the operator's page is served. */
  readonly ops: boolean
  /** Empty for no CORS headers. */
  readonly corsOrigins: readonly string[]
  /** Whether `NODE_ENV` is `production`. */
  readonly production: boolean
}

/** The levels of the log, the gravest first. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** The least grave level that is logged; `silent` for none. */
export type LogLevel = (typeof LOG_LEVELS)[number]
