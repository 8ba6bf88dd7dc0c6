import * as v from 'valibot'
import { type Configuration, LOG_LEVELS } from './configuration.ts'
import { duration, durationOrNever, durationOrZero, timer } from './durations.ts'
import { serviceTokens } from './service-tokens.ts'
import type { SettingName } from './settings.ts'
import { databaseUrl, origins, publicUrl } from './urls.ts'
import { folder, listeningHost, oneOf, onOff, tokenPrefix, version, wholeNumber } from './values.ts'

/** What each setting accepts, on its own. */
export const schema = v.object({
  HOST: listeningHost,
  PORT: wholeNumber(0, 65535),
  PUBLIC_URL: v.nullable(publicUrl),
  DATABASE_URL: v.nullable(databaseUrl),
  DATABASE_DIRECT_URL: v.nullable(databaseUrl),
  DATABASE_PREPARED: onOff,
  DATABASE_POOL_MAX: wholeNumber(1, 10_000),
  DATA_DIR: v.nullable(folder),
  MIGRATE: oneOf(['auto', 'off']),
  WORKERS: wholeNumber(1, 1024),
  TOKEN_PREFIX: tokenPrefix,
  TOKEN_TTL: durationOrNever,
  TOKEN_CACHE_TTL: durationOrZero,
  TOKEN_CACHE_MAX: wholeNumber(1, 100_000_000),
  REVOCATION: oneOf(['strict', 'prompt']),
  SERVICE_TOKENS: v.nullable(serviceTokens),
  APP_VERSION: v.nullable(version),
  BCRYPT_COST: wholeNumber(4, 15),
  LOG_LEVEL: oneOf(LOG_LEVELS),
  ACCESS_LOG: oneOf(['failures', 'all', 'off']),
  BODY_LIMIT: wholeNumber(1, 2 ** 30),
  HEADERS_TIMEOUT: timer(duration),
  REQUEST_TIMEOUT: timer(duration),
  KEEP_ALIVE_TIMEOUT: timer(duration),
  DRAIN_DELAY: timer(durationOrZero),
  DRAIN_DEADLINE: timer(duration),
  CORS_ORIGINS: v.nullable(origins),
} satisfies Record<SettingName, unknown>)

/** Every setting's accepted value. */
export type Values = v.InferOutput<typeof schema>

/** The accepted values under the names of the house. */
export function configurationOf(values: Values, production: boolean): Configuration {
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
    revocation: values.REVOCATION,
    serviceTokens: values.SERVICE_TOKENS ?? [],
    appVersion: values.APP_VERSION,
    bcryptCost: values.BCRYPT_COST,
    logLevel: values.LOG_LEVEL,
    accessLog: values.ACCESS_LOG,
    bodyLimitBytes: values.BODY_LIMIT,
    headersTimeoutMs: values.HEADERS_TIMEOUT,
    requestTimeoutMs: values.REQUEST_TIMEOUT,
    keepAliveTimeoutMs: values.KEEP_ALIVE_TIMEOUT,
    drainDelayMs: values.DRAIN_DELAY,
    drainDeadlineMs: values.DRAIN_DEADLINE,
    corsOrigins: values.CORS_ORIGINS ?? [],
    production,
  }
}
