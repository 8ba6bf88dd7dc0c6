import type { ForeignForm } from '../domain/foreign-token.ts'
import type { LoginLimit } from '../domain/login-limit.ts'
import type { ServiceToken } from '../domain/service-token.ts'
import type { AccessLogMode } from './ports/access-log.ts'

/** The operator's settings, validated and with units; the table of settings describes each. */
export interface Configuration {
  readonly host: string
  /** 0 chooses a free port. */
  readonly port: number
  /** Without a trailing slash; null for the listening address. */
  readonly publicUrl: string | null
  /** Null for the embedded PostgreSQL. */
  readonly databaseUrl: string | null
  /** Bypasses any pooler; the same as `databaseUrl` unless the operator set it. */
  readonly databaseDirectUrl: string | null
  readonly prepared: boolean
  readonly poolMax: number
  /** Null for the default folder of the embedded PostgreSQL. */
  readonly dataDir: string | null
  readonly migrate: 'auto' | 'off'
  /** The number of processes that serve; with 1 there are no worker processes. */
  readonly workers: number
  readonly tokenPrefix: string
  /** Null for tokens that never expire. */
  readonly tokenTtlMs: number | null
  /** 0 for no cache. */
  readonly tokenCacheTtlMs: number
  readonly tokenCacheMax: number
  /** How long revoked and expired tokens stay stored. */
  readonly tokenRetentionMs: number
  readonly tokenLastUsed: boolean
  /** How long a login token lasts without a use; null for no such limit. */
  readonly tokenIdleTtlMs: number | null
  /** The number of login tokens that a customer may hold at once. */
  readonly loginSessions: number
  /** What a login does at that limit. */
  readonly loginSessionsFull: 'replace' | 'refuse'
  readonly revocation: 'strict' | 'prompt'
  /** The systems whose tokens are accepted besides Latchkey's own. */
  readonly foreignTokens: readonly ForeignForm[]
  readonly serviceTokens: readonly ServiceToken[]
  /** Null for the version of the package. */
  readonly appVersion: string | null
  readonly bcryptCost: number
  /** Passwords that one process hashes at the same time; null for the number of processors divided by `workers`. */
  readonly hashingConcurrency: number | null
  /** The number of threads in libuv's pool, which hashing shares. */
  readonly threadPoolSize: number
  readonly refusesCommonPasswords: boolean
  /** The least number of characters of a new password. */
  readonly passwordMinLength: number
  /** Limit of failed logins by account and address together; null for no limit. */
  readonly loginLimitAccount: LoginLimit | null
  /** Limit of failed logins by address; null for no limit. */
  readonly loginLimitAddress: LoginLimit | null
  /** The number of proxies in front whose entries in `X-Forwarded-For` are trusted. */
  readonly trustedProxies: number
  readonly logLevel: LogLevel
  /** Which responses are logged, at the level `info`. */
  readonly accessLog: AccessLogMode
  /** Whether the log contains the messages of errors that are not the service's own. */
  readonly logErrorMessages: boolean
  /** A file; null for standard output. */
  readonly auditLog: string | null
  readonly bodyLimitBytes: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  /** Client connections of one process; null for the number that the limit of file descriptors allows. */
  readonly maxConnections: number | null
  /** Verifiers that may be connected to one process. */
  readonly maxVerifiers: number
  readonly drainDelayMs: number
  readonly drainDeadlineMs: number
  /** Whether the docs page and the OpenAPI document are served. */
  readonly docs: boolean
  readonly metricsHost: string
  /** 0 chooses a free port; null for no separate listener. */
  readonly metricsPort: number | null
  /** Whether the operator's page is served. */
  readonly ops: boolean
  /** Empty for no CORS headers. */
  readonly corsOrigins: readonly string[]
  /** Request headers that those origins may send besides the usual ones. */
  readonly corsHeaders: readonly string[]
  /** Whether `NODE_ENV` is `production`. */
  readonly production: boolean
}

/** The log levels, the most severe first. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** The least severe level that is logged; `silent` logs nothing. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The settings that a running service can reload. */
export type ReloadableSettings = Pick<
  Configuration,
  'serviceTokens' | 'logLevel' | 'databaseUrl' | 'databaseDirectUrl'
>
