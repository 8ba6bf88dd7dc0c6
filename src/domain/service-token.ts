/** A program that presented a service token. */
export interface ServiceCaller {
  readonly name: string
  /** The scopes that its token grants. A service route requires one or more of them. */
  readonly scopes: readonly string[]
}

/**
 * A token of a program that acts for no customer, configured by the operator. The program presents `secret`; logs contain
 * only `name`.
 */
export interface ServiceToken extends ServiceCaller {
  readonly secret: string
}

/** The scope of a service route that declares none of its own. */
export const ROUTES_SCOPE = 'routes'

/** The scopes of a service token for which the operator wrote none. All other scopes must be written. */
export const DEFAULT_SERVICE_SCOPES: readonly string[] = ['status', 'metrics', ROUTES_SCOPE]

/** Whether a text is a scope: a word such as `ops` or `reports:read`. There are no wildcards. */
export function isScope(text: string): boolean {
  return /^[A-Za-z0-9_.-]+(:[A-Za-z0-9_.-]+)*$/.test(text)
}

/** Scopes that another one includes: a verifier asks one by one while it has no connection. */
const INCLUDED_IN: Readonly<Record<string, string>> = { introspect: 'verify' }

/** Returns the required scopes that are not granted. Scopes are compared exactly; `verify` includes `introspect`. */
export function missingScopes(granted: readonly string[], required: readonly string[]): readonly string[] {
  return required.filter(
    (scope) => !granted.includes(scope) && !granted.includes(INCLUDED_IN[scope] ?? scope),
  )
}

const MIN_SECRET_CHARACTERS = 32
const MIN_DISTINCT_CHARACTERS = 8
const ADVICE = 'Create one: latchkey service-token new'
/** Words that documentation writes in place of a secret. A random secret contains none of them. */
const PLACEHOLDER = /replace|example|placeholder|change[._-]?me|your[._-](?:own|secret|service|token)/i

/** Returns the problem with a service token as one sentence that never repeats the secret, or null. */
export function serviceTokenProblem({ name, secret, scopes }: ServiceToken): string | null {
  if (!/^[a-z0-9-]+$/.test(name)) return 'A name must be lower-case letters, digits and hyphens.'
  if (scopes.length === 0) return `The brackets after "${name}" are empty. Leave them out, or write scopes.`
  if (!scopes.every(isScope))
    return `The scopes of "${name}" must be words of letters, digits and _.-: with a space between them.`
  if (secret.length < MIN_SECRET_CHARACTERS)
    return `The secret of "${name}" must have at least ${MIN_SECRET_CHARACTERS} characters.`
  // RFC 6750, section 2.1: b64token
  if (!/^[A-Za-z0-9._~+/-]+=*$/.test(secret))
    return `The secret of "${name}" must be letters, digits and -._~+/ with = at the end only.`
  if (PLACEHOLDER.test(secret)) return `The secret of "${name}" is a placeholder. ${ADVICE}`
  if (new Set(secret).size < MIN_DISTINCT_CHARACTERS)
    return `The secret of "${name}" has fewer than ${MIN_DISTINCT_CHARACTERS} different characters. ${ADVICE}`
  return null
}
