import { SETTINGS } from './settings.ts'

const NAMES: readonly string[] = SETTINGS.flatMap(({ name, secret }) =>
  secret ? [name, `${name}_FILE`] : [name],
)
/** In a short name, two edits would change too much. */
const SHORT = 6

/** Returns a warning for each name that is no setting but resembles one: the setting would silently have its default. */
export function findMisspeltNames(names: Iterable<string>): readonly string[] {
  const known = new Set(NAMES)
  return [...names].flatMap((name) => {
    const meant = known.has(name)
      ? undefined
      : NAMES.find((setting) => resembles(name.toUpperCase(), setting))
    return meant === undefined ? [] : [`.env: ${name} is not a setting. Is ${meant} meant?`]
  })
}

function resembles(name: string, setting: string): boolean {
  const limit = setting.length < SHORT ? 1 : 2
  if (Math.abs(name.length - setting.length) > limit) return false
  return editDistance(name, setting) <= limit
}

/** The number of insertions, deletions and substitutions that turn one text into the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [at, letter] of [...from].entries()) {
    const next = [at + 1]
    for (const [column, other] of [...to].entries())
      next.push(
        Math.min(
          (next[column] ?? 0) + 1,
          (row[column + 1] ?? 0) + 1,
          (row[column] ?? 0) + (letter === other ? 0 : 1),
        ),
      )
    row = next
  }
  return row.at(-1) ?? 0
}
