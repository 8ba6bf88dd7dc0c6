/**
 * A token of a program that acts for no customer, configured by the operator. The program presents `secret`; logs contain
 * only `name`.
 */
export interface ServiceToken {
  readonly name: string
  readonly secret: string
}

const MIN_SECRET_CHARACTERS = 32
const MIN_DISTINCT_CHARACTERS = 8
const ADVICE = 'Create one: latchkey service-token new'
/** Words that documentation writes in place of a secret. A random secret contains none of them. */
const PLACEHOLDER = /replace|example|placeholder|change[._-]?me|your[._-](?:own|secret|service|token)/i

/** Returns the problem with a service token as one sentence that never repeats the secret, or null. */
export function serviceTokenProblem({ name, secret }: ServiceToken): string | null {
  if (!/^[a-z0-9-]+$/.test(name)) return 'A name must be lower-case letters, digits and hyphens.'
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
