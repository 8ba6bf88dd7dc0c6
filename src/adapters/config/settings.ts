/** One setting as the documentation and the messages speak of it. */
export interface Setting<Name extends string = string> {
  readonly name: Name
  /** The text that is read when the variable is not set; null when being unset has a meaning of its own. */
  readonly default: string | null
  /** The default as people read it. */
  readonly shownDefault: string
  readonly meaning: string
  /** An accepted value; invented where the setting is a secret. */
  readonly example: string
  /** A secret's value is never shown, and may come from a file named by `<name>_FILE`. */
  readonly secret: boolean
}

/** Every environment variable that the service reads, in the order of the documentation. */
export const SETTINGS = [
  setting('HOST', '127.0.0.1', 'address to listen on'),
  setting('PORT', '3000', 'port to listen on; `0` takes a free one, and the start line prints it'),
  setting('PUBLIC_URL', unset('the listening address'), 'base address in start lines and OpenAPI', {
    example: 'https://api.example.com',
  }),
  setting('DATABASE_URL', unset('unset'), 'PostgreSQL 13 or newer; unset: the embedded one in `DATA_DIR`', {
    example: 'postgres://latchkey:password@db.example.com:5432/latchkey',
    secret: true,
  }),
  setting(
    'DATABASE_DIRECT_URL',
    unset('`DATABASE_URL`'),
    'direct connection, where the other goes through a pooler',
    {
      example: 'postgres://latchkey:password@db.example.com:5432/latchkey',
      secret: true,
    },
  ),
  setting('DATABASE_PREPARED', 'on', '`off` for poolers without prepared statements'),
  setting('DATABASE_POOL_MAX', '10', 'connections per process'),
  setting('DATA_DIR', unset('./data'), 'embedded PostgreSQL and its password file', { example: './data' }),
  setting('MIGRATE', 'auto', '`auto`: on start, waiting its turn; `off`: refuse to start on an old schema'),
  setting('WORKERS', '1', 'processes that share the address, each with its own cache and pool'),
  setting(
    'TOKEN_PREFIX',
    'lk',
    'begins every new token: a small letter, then up to 15 small letters or digits',
  ),
  setting('TOKEN_TTL', '30d', 'life of a login token, or `never`'),
  setting('TOKEN_CACHE_TTL', '60s', 'longest life of a cached validation; `0s` switches the cache off'),
  setting('TOKEN_CACHE_MAX', '100000', 'cached validations; a full cache is never an error'),
  setting('TOKEN_RETENTION', '30d', 'how long revoked and expired tokens are kept'),
  setting('TOKEN_LAST_USED', 'on', '`off`: do not remember when tokens were last used'),
  setting('REVOCATION', 'strict', 'acknowledged when every instance obeys, or `prompt`: when this one does'),
  setting(
    'SERVICE_TOKENS',
    unset('unset'),
    '`name=secret`, comma-separated; unset: service routes answer 401',
    {
      example: 'monitor=replace-with-the-output-of-service-token-new',
      secret: true,
    },
  ),
  setting('APP_VERSION', unset('package version'), 'what `/api/status` reports', { example: '1.4.0' }),
  setting('BCRYPT_COST', '12', '4 to 15; below 10 prints a warning'),
  setting(
    'HASHING_CONCURRENCY',
    unset('processors / `WORKERS`'),
    'passwords hashed at once by a process; fewer than `UV_THREADPOOL_SIZE` (4)',
    {
      example: '2',
    },
  ),
  setting(
    'COMMON_PASSWORDS',
    'refused',
    'the passwords that everybody guesses first: `refused` or `accepted`',
  ),
  setting('LOGIN_LIMIT_ACCOUNT', '10/15m', 'failed logins by account and address, at most 100, or `off`'),
  setting('LOGIN_LIMIT_ADDRESS', '100/15m', 'failed logins by address, or `off`'),
  setting(
    'TRUST_PROXY',
    '0',
    'proxies in front whose entries of `X-Forwarded-For` are believed, from the right',
  ),
  setting('LOG_LEVEL', 'info', '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`'),
  setting(
    'ACCESS_LOG',
    'failures',
    '`failures` (401, 403), `all` or `off`: answers to log; bugs are logged always',
  ),
  setting(
    'LOG_ERROR_MESSAGES',
    'on',
    '`off`: what unexpected errors say is not logged, as it may repeat data',
  ),
  setting(
    'AUDIT_LOG',
    unset('standard output'),
    'file to which the events of accounts and tokens are added',
    {
      example: '/var/log/latchkey/audit.jsonl',
    },
  ),
  setting('BODY_LIMIT', '65536', 'longest request body in bytes; a route may set its own'),
  setting('HEADERS_TIMEOUT', '10s', 'longest wait for the head of a request; at most `REQUEST_TIMEOUT`'),
  setting('REQUEST_TIMEOUT', '15s', 'longest wait for a whole request'),
  setting('KEEP_ALIVE_TIMEOUT', '75s', 'life of an idle connection; longer than that of a balancer in front'),
  setting('DRAIN_DELAY', '0s', 'after SIGTERM: still serving for so long, while `/readyz` says no'),
  setting('DRAIN_DEADLINE', '10s', 'after the delay: requests in flight may end for so long'),
  setting('DOCS', 'on', '`/docs` and `/openapi.json`; `off`: neither is there'),
  setting('METRICS_HOST', '127.0.0.1', 'address of `METRICS_PORT`, where no token is asked for'),
  setting('METRICS_PORT', unset('unset'), 'port of its own for `/metrics`, beside the one of the service', {
    example: '9464',
  }),
  setting('OPS', 'off', "`on`: the operator's page `/ops`, opened with a service token"),
  setting('CORS_ORIGINS', unset('unset'), 'comma-separated origins; unset: no CORS headers', {
    example: 'https://app.example.com,http://localhost:5173',
  }),
] as const

/** The name of a setting, without `_FILE`. */
export type SettingName = (typeof SETTINGS)[number]['name']

interface Unset {
  readonly means: string
}

function unset(means: string): Unset {
  return { means }
}

function setting<const Name extends string>(
  name: Name,
  standard: string | Unset,
  meaning: string,
  more: { readonly example?: string; readonly secret?: boolean } = {},
): Setting<Name> {
  const text = typeof standard === 'string' ? standard : null
  const shownDefault = typeof standard === 'string' ? standard : standard.means
  return {
    name,
    default: text,
    shownDefault,
    meaning,
    example: more.example ?? shownDefault,
    secret: more.secret ?? false,
  }
}
