import * as v from 'valibot'
import type { Schema } from '../routing/declared-route.ts'
import { EXAMPLE_TIME, exampleValue } from './json-example.ts'
import { describe } from './json-schema.ts'

/** Returns a value that the schema accepts as JSON: its own example, or a minimal value. Undefined when none is found. */
export function exampleInput(schema: Schema): unknown {
  return findExample(schema)?.input
}

/** Returns a response that the schema produces, as JSON. Undefined when none is found. */
export function exampleOutput(schema: Schema): unknown {
  // A `Date` is text in the document, and its own value in a handler.
  const found = findExample(schema) ?? findExample(schema, withDates)
  try {
    return found === null ? undefined : JSON.parse(JSON.stringify(found.output))
  } catch {
    return undefined
  }
}

function findExample(
  schema: Schema,
  prepare: (value: unknown) => unknown = (value) => value,
): { readonly input: unknown; readonly output: unknown } | null {
  const { schema: described, definitions } = describe(schema, 'input', '', true)
  try {
    const input = prepare(exampleValue(described, definitions))
    const { success, output } = v.safeParse(schema, input)
    return success ? { input, output } : null
  } catch {
    // A check of the schema's author may throw for any value.
    return null
  }
}

/** Returns the value with a `Date` for each time. */
function withDates(value: unknown): unknown {
  if (value === EXAMPLE_TIME) return new Date(EXAMPLE_TIME)
  if (Array.isArray(value)) return value.map(withDates)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withDates(field)]))
}
