import * as v from 'valibot'
import { type Configuration, LOG_LEVELS } from '../../application/configuration.ts'
import { duration, durationOrNever, durationOrZero, timer } from './durations.ts'
import { loginLimit } from './login-limits.ts'
import { serviceTokens } from './service-tokens.ts'
import type { SettingName } from './settings.ts'
import { databaseUrl, origins, publicUrl } from './urls.ts'
import { enumValue, file, folder, listeningHost, onOff, tokenPrefix, version, wholeNumber } from './values.ts'

/** The accepted values of each setting by itself. */
export const schema = v.object({
  HOST: listeningHost,
  PORT: wholeNumber(0, 65535),
  PUBLIC_URL: v.nullable(publicUrl),
  DATABASE_URL: v.nullable(databaseUrl),
  DATABASE_DIRECT_URL: v.nullable(databaseUrl),
  DATABASE_PREPARED: onOff,
  DATABASE_POOL_MAX: wholeNumber(1, 10_000),
  DATA_DIR: v.nullable(folder),
  MIGRATE: enumValue(['auto', 'off']),
  WORKERS: wholeNumber(1, 1024),
  TOKEN_PREFIX: tokenPrefix,
  TOKEN_TTL: durationOrNever,
  TOKEN_CACHE_TTL: durationOrZero,
  TOKEN_CACHE_MAX: wholeNumber(1, 100_000_000),
  TOKEN_RETENTION: duration,
  TOKEN_LAST_USED: onOff,
  REVOCATION: enumValue(['strict', 'prompt']),
  SERVICE_TOKENS: v.nullable(serviceTokens),
  APP_VERSION: v.nullable(version),
  BCRYPT_COST: wholeNumber(4, 15),
  HASHING_CONCURRENCY: v.nullable(wholeNumber(1, 1023)),
  COMMON_PASSWORDS: enumValue(['refused', 'accepted']),
  LOGIN_LIMIT_ACCOUNT: loginLimit(100),
  LOGIN_LIMIT_ADDRESS: loginLimit(1_000_000),
  TRUST_PROXY: wholeNumber(0, 100),
  LOG_LEVEL: enumValue(LOG_LEVELS),
  ACCESS_LOG: enumValue(['failures', 'all', 'off']),
  LOG_ERROR_MESSAGES: onOff,
  AUDIT_LOG: v.nullable(file),
  BODY_LIMIT: wholeNumber(1, 2 ** 30),
  HEADERS_TIMEOUT: timer(duration),
  REQUEST_TIMEOUT: timer(duration),
  KEEP_ALIVE_TIMEOUT: timer(duration),
  DRAIN_DELAY: timer(durationOrZero),
  DRAIN_DEADLINE: timer(duration),
  DOCS: onOff,
  METRICS_HOST: listeningHost,
  METRICS_PORT: v.nullable(wholeNumber(0, 65535)),
  OPS: onOff,
  CORS_ORIGINS: v.nullable(origins),
} satisfies Record<SettingName, unknown>)

/** The accepted value of every setting. */
export type Values = v.InferOutput<typeof schema>

/** Maps the settings to the fields of `Configuration`. */
export function toConfiguration(
  values: Values,
  { production, threadPoolSize }: Pick<Configuration, 'production' | 'threadPoolSize'>,
): Configuration {
  return {
    host: values.HOST,
    port: values.PORT,
    publicUrl: values.PUBLIC_URL,
    databaseUrl: values.DATABASE_URL,
    databaseDirectUrl: values.DATABASE_DIRECT_URL ?? values.DATABASE_URL,
    prepared: values.DATABASE_PREPARED,
    poolMax: values.DATABASE_POOL_MAX,
    dataDir: values.DATA_DIR,
    migrate: values.MIGRATE,
    workers: values.WORKERS,
    tokenPrefix: values.TOKEN_PREFIX,
    tokenTtlMs: values.TOKEN_TTL,
    tokenCacheTtlMs: values.TOKEN_CACHE_TTL,
    tokenCacheMax: values.TOKEN_CACHE_MAX,
    tokenRetentionMs: values.TOKEN_RETENTION,
    tokenLastUsed: values.TOKEN_LAST_USED,
    revocation: values.REVOCATION,
    serviceTokens: values.SERVICE_TOKENS ?? [],
    appVersion: values.APP_VERSION,
    bcryptCost: values.BCRYPT_COST,
    hashingConcurrency: values.HASHING_CONCURRENCY,
    threadPoolSize,
    refusesCommonPasswords: values.COMMON_PASSWORDS === 'refused',
    loginLimitAccount: values.LOGIN_LIMIT_ACCOUNT,
    loginLimitAddress: values.LOGIN_LIMIT_ADDRESS,
    trustedProxies: values.TRUST_PROXY,
    logLevel: values.LOG_LEVEL,
    accessLog: values.ACCESS_LOG,
    logErrorMessages: values.LOG_ERROR_MESSAGES,
    auditLog: values.AUDIT_LOG,
    bodyLimitBytes: values.BODY_LIMIT,
    headersTimeoutMs: values.HEADERS_TIMEOUT,
    requestTimeoutMs: values.REQUEST_TIMEOUT,
    keepAliveTimeoutMs: values.KEEP_ALIVE_TIMEOUT,
    drainDelayMs: values.DRAIN_DELAY,
    drainDeadlineMs: values.DRAIN_DEADLINE,
    docs: values.DOCS,
    metricsHost: values.METRICS_HOST,
    metricsPort: values.METRICS_PORT,
    ops: values.OPS,
    corsOrigins: values.CORS_ORIGINS ?? [],
    production,
  }
}
