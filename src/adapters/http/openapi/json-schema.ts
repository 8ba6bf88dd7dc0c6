import { type ConversionConfig, toJsonSchema } from '@valibot/to-json-schema'
import type { Schema } from '../routing/declared-route.ts'

/** A schema of JSON Schema 2020-12, as OpenAPI 3.1 takes it. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** What a schema of valibot is in a document. */
export interface Described {
  readonly schema: JsonSchema
  /** Schemas that it refers to, by their names among the components. */
  readonly definitions: Readonly<Record<string, JsonSchema>>
  /** What could not be said in JSON Schema, as whole sentences; the document then allows more than the route does. */
  readonly problems: readonly string[]
}

type Side = 'input' | 'output'
type OverrideSchema = Parameters<NonNullable<ConversionConfig['overrideSchema']>>[0]
type OverrideAction = Parameters<NonNullable<ConversionConfig['overrideAction']>>[0]

/** Rules that only narrow what is said already, and transformations that leave the type as it was. */
const HARMLESS =
  /check|^(trim|trim_start|trim_end|to_lower_case|to_upper_case|normalize|brand|readonly|flavor)$/

/**
 * Describes what comes in (`input`) or what is answered (`output`). Never throws: what JSON Schema has no word for is
 * described as the nearest that allows no less. `name` is a prefix that makes the names of its definitions its own.
 */
export function describe(schema: Schema, side: Side, name: string): Described {
  const problems: string[] = []
  const refOf = (id: string) => `${name}.${id}`
  try {
    const { $schema, $defs, ...own } = toJsonSchema(schema, {
      target: 'draft-2020-12',
      typeMode: side,
      errorMode: 'ignore',
      overrideSchema: (context) => nearestSchema(context, side, problems),
      overrideAction: (context) => nearestAction(context, side, problems),
      overrideRef: ({ referenceId }) => `#/components/schemas/${refOf(referenceId)}`,
    }) as JsonSchema
    const definitions = Object.entries(($defs ?? {}) as Record<string, JsonSchema>)
    return {
      schema: own,
      definitions: Object.fromEntries(definitions.map(([id, definition]) => [refOf(id), definition])),
      problems,
    }
  } catch (error) {
    return { schema: {}, definitions: {}, problems: [...problems, (error as Error).message] }
  }
}

function nearestSchema(
  { valibotSchema, errors }: OverrideSchema,
  side: Side,
  problems: string[],
): { format?: string; type?: 'string' } | null {
  if (errors === undefined) return null
  // What is answered as a Date arrives as its text.
  if (valibotSchema.type === 'date' && side === 'output') return { type: 'string', format: 'date-time' }
  problems.push(`JSON Schema has no "${valibotSchema.type}"; anything is documented.`)
  return {}
}

function nearestAction(
  { valibotAction, jsonSchema, errors }: OverrideAction,
  side: Side,
  problems: string[],
): object | null {
  const { type, kind } = valibotAction as { readonly type: string; readonly kind: string }
  if (errors === undefined || HARMLESS.test(type)) return null
  if (type === 'regex') {
    const { pattern, ...rest } = jsonSchema
    problems.push('JSON Schema has no flags of regular expressions; the pattern is left out.')
    return rest
  }
  if (kind !== 'transformation' || side === 'input') return null
  problems.push(`What "${type}" answers is not known; put a schema behind it. Anything is documented.`)
  return {}
}
