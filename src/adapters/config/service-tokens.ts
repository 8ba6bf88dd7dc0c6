import * as v from 'valibot'
import { DEFAULT_SERVICE_SCOPES, type ServiceToken, serviceTokenProblem } from '../../domain/service-token.ts'

/**
 * Comma-separated pairs of `name=secret` or `name[scopes]=secret`, each validated by the domain. No message contains a
 * secret.
 */
export const serviceTokens = v.pipe(
  v.string(),
  v.rawTransform<string, readonly ServiceToken[]>(({ dataset, addIssue, NEVER }) => {
    const problems: string[] = []
    const tokens = new Map<string, ServiceToken>()
    dataset.value.split(BETWEEN_PAIRS).forEach((pair, index) => {
      const token = splitPair(pair.trim())
      const problem =
        token === null
          ? `Pair ${index + 1} must be name=secret or name[scopes]=secret.`
          : problemAmong(tokens, token)
      if (problem !== null) problems.push(problem)
      else if (token !== null) tokens.set(token.name, token)
    })
    if (problems.length === 0) return [...tokens.values()]
    for (const message of problems) addIssue({ message })
    return NEVER
  }),
)

/** A comma, but not in brackets, where it is a mistake for a space. */
const BETWEEN_PAIRS = /,(?![^[]*\])/

/** Converts the format of the file, one pair a line, to the format of the variable. */
export function pairsOfLines(text: string): string {
  return text
    .split(/[\r\n]+/)
    .filter((line) => line.trim() !== '')
    .join(',')
}

function splitPair(pair: string): ServiceToken | null {
  const [, name, scopes, secret] = /^([^=[]*)(?:\[([^=[\]]*)\])?=(.*)$/s.exec(pair) ?? []
  // A secret without a name may end in padding (=); it must not be shown as the name.
  if (name === undefined || secret === undefined || /^=*$/.test(secret)) return null
  const written = scopes?.split(' ').filter((scope) => scope !== '')
  return { name, scopes: written ?? DEFAULT_SERVICE_SCOPES, secret }
}

function problemAmong(tokens: ReadonlyMap<string, ServiceToken>, token: ServiceToken): string | null {
  const problem = serviceTokenProblem(token)
  if (problem !== null) return problem
  if (tokens.has(token.name)) return `The name "${token.name}" is given to more than one secret.`
  const twin = [...tokens.values()].find(({ secret }) => secret === token.secret)
  if (twin === undefined) return null
  return `The secret of "${token.name}" is that of "${twin.name}" too. Give each name its own.`
}
