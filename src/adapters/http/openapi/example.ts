import * as v from 'valibot'
import type { Schema } from '../routing/declared-route.ts'
import { EXAMPLE_TIME, exampleValue } from './json-example.ts'
import { describe, type JsonSchema } from './json-schema.ts'

/** Returns a value that the schema accepts as JSON: its own example, or a minimal value. Undefined when none is found. */
export function exampleInput(schema: Schema): unknown {
  return findExample(schema)?.input
}

/**
 * Returns the property `examples` or `example` of a body's media type: an example for each named variant of a union,
 * otherwise one example. Empty when no accepted value is found.
 */
export function bodyExamples(schema: Schema): object {
  const { schema: described, definitions } = describe(schema, 'input', '', true)
  const variants = (described.anyOf ?? described.oneOf ?? []) as readonly JsonSchema[]
  const found = variants.flatMap((variant) => {
    const name = variantName(variant)
    const accepted = accept(schema, () => exampleValue(variant, definitions))
    return name === undefined || accepted === null ? [] : [[name, { value: accepted.input }]]
  })
  const examples = Object.fromEntries(found)
  // Equal names overwrite each other.
  if (Object.keys(examples).length > 1) return { examples }
  const example = exampleInput(schema)
  return example === undefined ? {} : { example }
}

function variantName({ title, properties = {} }: JsonSchema): string | undefined {
  const constants = Object.values(properties as Record<string, JsonSchema>).map((property) => property.const)
  return (title ?? constants.find((constant) => typeof constant === 'string')) as string | undefined
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
): Accepted | null {
  const { schema: described, definitions } = describe(schema, 'input', '', true)
  return accept(schema, () => prepare(exampleValue(described, definitions)))
}

interface Accepted {
  readonly input: unknown
  readonly output: unknown
}

/** Returns the created value and the schema's result for it. Null when the schema refuses it, or when a call throws. */
function accept(schema: Schema, create: () => unknown): Accepted | null {
  try {
    const input = create()
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
