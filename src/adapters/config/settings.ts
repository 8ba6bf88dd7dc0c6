/** A setting as documentation and messages show it. */
export interface Setting<Name extends string = string> {
  readonly name: Name
  /** The text that applies when the variable is unset; null when unset has its own meaning. */
  readonly default: string | null
  /** The default as the documentation shows it. */
  readonly shownDefault: string
  readonly meaning: string
  /** An accepted value; fictitious for a secret. */
  readonly example: string
  /** The value is never shown, and may be read from the file named by `<name>_FILE`. */
  readonly secret: boolean
}

/** Every environment variable of the service, in the order of the documentation. */
export const SETTINGS = [
  setting('HOST', '127.0.0.1', 'address to listen on'),
  setting('PORT', '3000', 'port to listen on; `0` selects a free port, which the start line prints'),
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
    'direct connection, if `DATABASE_URL` goes through a pooler',
    {
      example: 'postgres://latchkey:password@db.example.com:5432/latchkey',
      secret: true,
    },
  ),
  setting('DATABASE_PREPARED', 'on', '`off` for poolers without prepared statements'),
  setting('DATABASE_POOL_MAX', '10', 'connections per process'),
  setting('DATA_DIR', unset('./data'), 'embedded PostgreSQL and its password file', { example: './data' }),
  setting(
    'MIGRATE',
    'auto',
    '`auto`: migrate on start, one process at a time; `off`: refuse to start on an old schema',
  ),
  setting('WORKERS', '1', 'processes that share the address, each with its own cache and pool'),
  setting('TOKEN_PREFIX', 'lk', 'prefix of new tokens'),
  setting('TOKEN_TTL', '30d', 'lifetime of a login token; `never`: it does not expire'),
  setting('TOKEN_CACHE_TTL', '60s', 'maximum lifetime of a cached validation; `0s` disables the cache'),
  setting(
    'TOKEN_CACHE_MAX',
    '100000',
    'maximum number of cached validations; a full cache is never an error',
  ),
  setting('TOKEN_RETENTION', '30d', 'retention time of revoked and expired tokens'),
  setting('TOKEN_LAST_USED', 'on', '`off`: do not record when tokens were last used'),
  setting(
    'REVOCATION',
    'strict',
    '`strict`: acknowledged after every instance has applied it; `prompt`: after this one has',
  ),
  setting(
    'SERVICE_TOKENS',
    unset('unset'),
    'tokens of programs, separated by commas; unset: service routes return 401',
    {
      example: 'monitor=replace-with-the-output-of-service-token-new',
      secret: true,
    },
  ),
  setting('APP_VERSION', unset('package version'), 'version that `/api/status` reports', {
    example: '1.4.0',
  }),
  setting('BCRYPT_COST', '12', 'cost of new password hashes; below 10 prints a warning'),
  setting(
    'HASHING_CONCURRENCY',
    unset('processors / `WORKERS`'),
    'passwords that a process hashes at once; less than `UV_THREADPOOL_SIZE` (4)',
    {
      example: '2',
    },
  ),
  setting('COMMON_PASSWORDS', 'refused', '`refused`: a new password must not be among the most common ones'),
  setting('LOGIN_LIMIT_ACCOUNT', '10/15m', 'failed logins of one account from one address; `off`: no limit'),
  setting('LOGIN_LIMIT_ADDRESS', '100/15m', 'failed logins from one address; `off`: no limit'),
  setting(
    'TRUST_PROXY',
    '0',
    'number of proxies whose `X-Forwarded-For` entries are trusted, from the right',
  ),
  setting('LOG_LEVEL', 'info', 'least severe level that is logged; `silent` logs nothing'),
  setting(
    'ACCESS_LOG',
    'failures',
    'responses that are logged; `failures`: 401, 403 and 429; bugs are always logged',
  ),
  setting(
    'LOG_ERROR_MESSAGES',
    'on',
    '`off`: do not log the messages of unexpected errors, which may contain data',
  ),
  setting('AUDIT_LOG', unset('standard output'), 'file to which account and token events are appended', {
    example: '/var/log/latchkey/audit.jsonl',
  }),
  setting('BODY_LIMIT', '65536', 'maximum request body in bytes; a route may set its own'),
  setting('HEADERS_TIMEOUT', '10s', 'timeout for the head of a request; at most `REQUEST_TIMEOUT`'),
  setting('REQUEST_TIMEOUT', '15s', 'timeout for a whole request'),
  setting(
    'KEEP_ALIVE_TIMEOUT',
    '75s',
    'lifetime of an idle connection; must exceed that of a load balancer in front',
  ),
  setting(
    'DRAIN_DELAY',
    '0s',
    'time after SIGTERM in which requests are still served and `/readyz` returns 503',
  ),
  setting('DRAIN_DEADLINE', '10s', 'time after the delay in which requests in flight may finish'),
  setting('DOCS', 'on', '`/docs` and `/openapi.json`; `off`: neither is served'),
  setting('METRICS_HOST', '127.0.0.1', 'address of `METRICS_PORT`, which requires no token'),
  setting('METRICS_PORT', unset('unset'), 'separate port for `/metrics`, besides the port of the service', {
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
