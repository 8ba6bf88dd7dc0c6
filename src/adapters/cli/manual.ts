/** What the help of a command says beside its options. */
interface Manual {
  readonly example: string
  /** When the command exits with 1; null for a group of commands. */
  readonly fails: string | null
}

const MISSING = 'the customer does not exist'

/** The manual of each command, by its words. */
export const MANUAL: Readonly<Record<string, Manual>> = {
  '': { example: 'latchkey serve', fails: null },
  serve: {
    example: 'PORT=8080 latchkey serve',
    fails: 'it cannot start, loses its database for good, or is stopped by a second signal',
  },
  migrate: {
    example: 'latchkey migrate --check',
    fails: 'a migration fails, or with --check, some are pending',
  },
  customer: { example: 'latchkey customer add ana@example.com', fails: null },
  'customer add': {
    example: 'latchkey customer add ana@example.com --name Ana',
    fails: 'the customer exists, or email, name, password or hash is refused',
  },
  'customer import': {
    example: 'latchkey customer import customers.csv --dry-run',
    fails: 'a row was refused; the others are imported',
  },
  'customer list': { example: 'latchkey customer list --json', fails: 'the list cannot be read' },
  'customer sessions': { example: 'latchkey customer sessions ana@example.com', fails: MISSING },
  'customer unlock': {
    example: 'latchkey customer unlock ana@example.com',
    fails: `${MISSING}, or each process counts failed logins in its own memory`,
  },
  'customer show': { example: 'latchkey customer show ana@example.com', fails: MISSING },
  'customer password': {
    example: 'latchkey customer password ana@example.com',
    fails: `${MISSING}, or password or hash is refused`,
  },
  'customer disable': { example: 'latchkey customer disable ana@example.com', fails: MISSING },
  'customer enable': { example: 'latchkey customer enable ana@example.com', fails: MISSING },
  'customer delete': {
    example: 'latchkey customer delete ana@example.com',
    fails: `${MISSING}, or the confirmation was declined`,
  },
  token: { example: 'latchkey token list ana@example.com', fails: null },
  'token create': {
    example: 'latchkey token create ana@example.com --name bot \\\n    --ability orders:read --expires 90d',
    fails: `${MISSING} or is disabled, or name, ability or time is refused`,
  },
  'token import': {
    example: 'latchkey token import tokens.csv --from adonis --dry-run',
    fails: 'a row was refused, or --sync could not compare; the other rows are imported',
  },
  'token list': { example: 'latchkey token list ana@example.com', fails: MISSING },
  'token revoke': {
    example: 'latchkey token revoke ana@example.com --name bot\n  latchkey token revoke --issued-before 2h',
    fails: `${MISSING} or has no token of this name, the time is refused, the confirmation was declined, or not all were revoked`,
  },
  'token prune': { example: 'latchkey token prune --older-than 90d', fails: 'the duration is refused' },
  backup: {
    example: 'latchkey backup latchkey-2030-01-31.sql',
    fails: 'a table is of no migration, the file exists, or it cannot be written',
  },
  restore: {
    example: 'latchkey restore latchkey-2030-01-31.sql',
    fails: 'the file is damaged or does not fit, or the confirmation was declined; nothing is changed',
  },
  'upgrade-data': {
    example: 'latchkey upgrade-data --old-binaries postgres-17',
    fails: 'a service uses the folder, the programs are missing, or the copy fails; the data stays as it was',
  },
  'service-token': { example: 'latchkey service-token new', fails: null },
  'service-token new': { example: 'latchkey service-token new', fails: 'the secret cannot be printed' },
  routes: { example: 'latchkey routes', fails: 'a setting is refused' },
  openapi: { example: 'latchkey openapi > openapi.json', fails: 'a setting is refused' },
  doctor: { example: 'latchkey doctor --all', fails: 'a check failed' },
  smoke: {
    example: 'latchkey smoke https://api.example.com --email smoke@example.com',
    fails: 'a step failed',
  },
  completion: {
    example: 'source <(latchkey completion bash)',
    fails: 'the script cannot be printed',
  },
}
