import { SETTINGS } from './settings.ts'
import type { ConfigurationWarning } from './warnings.ts'

const NAMES = SETTINGS.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name]))
const KNOWN = new Set([...NAMES, 'NODE_ENV'])
/** In a short name, two edits would change too much. */
const SHORT = 6
/** Node reads these when it starts, before the file. */
const READ_BY_NODE = /^(?:NODE_|UV_|TZ$)/

/** Returns a warning for each name that has no effect in `.env` though it resembles one that has. */
export function findMisspeltNames(names: Iterable<string>): readonly ConfigurationWarning[] {
  return [...names].flatMap((name): ConfigurationWarning[] => {
    if (KNOWN.has(name)) return []
    const meant = [...KNOWN].find((known) => resembles(name.toUpperCase(), known))
    if (meant !== undefined) return [inDotEnv(`.env: ${name} is not a setting. Is ${meant} meant?`)]
    return READ_BY_NODE.test(name)
      ? [inDotEnv(`.env: ${name} has no effect here. Set it in the environment.`)]
      : []
  })
}

function inDotEnv(sentence: string): ConfigurationWarning {
  return { name: '.env', sentence }
}

function resembles(name: string, known: string): boolean {
  // Prefixes and suffixes that other programs have.
  if (name === `LATCHKEY_${known}` || name === `${known}_FILE`) return true
  const limit = known.length < SHORT ? 1 : 2
  return Math.abs(name.length - known.length) <= limit && editDistance(name, known) <= limit
}

/** The number of insertions, deletions, substitutions and swaps of neighbours (Damerau and Levenshtein). */
function editDistance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, column) => column)]
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let row = 1; row <= from.length; row++) {
    rows.push([row])
    for (let column = 1; column <= to.length; column++) {
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      const distance = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (from[row - 1] === to[column - 1] ? 0 : 1),
        isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
      rows[row]?.push(distance)
    }
  }
  return at(from.length, to.length)
}
