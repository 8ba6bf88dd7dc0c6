import type { JsonSchema } from './json-schema.ts'

const MAX_DEPTH = 8

/** The example of a time. */
export const EXAMPLE_TIME = '2030-01-31T12:00:00.000Z'

const BY_FORMAT: Readonly<Record<string, string>> = {
  email: 'ana@example.com',
  uuid: '3f2b1c9e-5d47-4a86-9c1d-0f6e8a7b2c34',
  'date-time': EXAMPLE_TIME,
  date: '2030-01-31',
  time: '12:00:00',
  uri: 'https://example.com/',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
}

/** Returns the schema's own example, or a minimal value, which a pattern of the schema may refuse. */
export function exampleValue(
  schema: JsonSchema,
  definitions: Readonly<Record<string, JsonSchema>>,
  depth = 0,
): unknown {
  const { examples, enum: options, $ref, anyOf, oneOf, allOf } = schema as Keywords
  const next = (other: JsonSchema) => exampleValue(other, definitions, depth + 1)
  if (examples?.[0] !== undefined) return examples[0]
  for (const keyword of ['const', 'default']) if (Object.hasOwn(schema, keyword)) return schema[keyword]
  if (options?.[0] !== undefined) return options[0]
  if (depth > MAX_DEPTH) return null
  if ($ref !== undefined) return next(definitions[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {})
  const choice = anyOf?.[0] ?? oneOf?.[0]
  if (choice !== undefined) return next(choice)
  if (allOf !== undefined) return Object.assign({}, ...allOf.map(next))
  return minimalValue(schema as Keywords, next)
}

interface Keywords {
  readonly [keyword: string]: unknown
  readonly examples?: readonly unknown[]
  readonly enum?: readonly unknown[]
  readonly $ref?: string
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly prefixItems?: readonly JsonSchema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
  readonly minItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly format?: string
}

function minimalValue(schema: Keywords, next: (other: JsonSchema) => unknown): unknown {
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, property]) => [name, next(property)]),
      )
    case 'array':
      if (schema.prefixItems !== undefined) return schema.prefixItems.map(next)
      return schema.items === undefined ? [] : Array(schema.minItems ?? 1).fill(next(schema.items))
    case 'string': {
      const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema
      const word = BY_FORMAT[schema.format ?? ''] ?? 'text'
      return word.padEnd(minLength, '.').slice(0, maxLength)
    }
    case 'number':
    case 'integer':
      return minimalNumber(schema)
    case 'boolean':
      return true
    default:
      return null
  }
}

/** Returns the number nearest to 1 within the bounds, and a multiple of the step. */
function minimalNumber({ type, multipleOf: step, ...bounds }: Keywords): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds
  const gap = step ?? (type === 'integer' ? 1 : 0.5)
  const least = Math.max(
    minimum ?? Number.NEGATIVE_INFINITY,
    (exclusiveMinimum ?? Number.NEGATIVE_INFINITY) + gap,
  )
  const most = Math.min(
    maximum ?? Number.POSITIVE_INFINITY,
    (exclusiveMaximum ?? Number.POSITIVE_INFINITY) - gap,
  )
  const nearest = Math.min(Math.max(1, least), most)
  if (step === undefined) return nearest
  const up = Math.ceil(nearest / step) * step
  return up <= most ? up : Math.floor(nearest / step) * step
}
