import type * as v from 'valibot'
import { ValidationFailed } from '../../../domain/errors.ts'
import { objectEntries } from '../routing/schema-entries.ts'

/**
 * Parses a query: each parameter of `lists` as a list, the others as text. Throws `ValidationFailed` when a parameter of the
 * schema that takes one value is repeated; of others, the last value counts.
 */
export function parseQuery(
  text: string,
  schema: v.GenericSchema,
  lists: readonly string[],
): Readonly<Record<string, unknown>> {
  const parameters = new URLSearchParams(text)
  const query: Record<string, unknown> = Object.fromEntries(parameters)
  for (const name of Object.keys(objectEntries(schema))) {
    if (!Object.hasOwn(query, name)) continue
    const values = parameters.getAll(name)
    if (lists.includes(name)) query[name] = values
    else if (values.length > 1) {
      const field = `query.${name}`
      throw new ValidationFailed({ [field]: ['Must be given once.'] }, [{ field, code: 'repeated' }])
    }
  }
  return query
}
