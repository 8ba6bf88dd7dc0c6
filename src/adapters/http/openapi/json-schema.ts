import { type ConversionConfig, toJsonSchema } from '@valibot/to-json-schema'
import type { Schema } from '../routing/declared-route.ts'

/** A JSON Schema (draft 2020-12), as in OpenAPI 3.1. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** A valibot schema as JSON Schema. */
export interface Described {
  readonly schema: JsonSchema
  /** The schemas that it references, by component name. */
  readonly definitions: Readonly<Record<string, JsonSchema>>
  /** What JSON Schema cannot express, as sentences. The document then allows more than the route does. */
  readonly problems: readonly string[]
}

type Side = 'input' | 'output'
type OverrideSchema = Parameters<NonNullable<ConversionConfig['overrideSchema']>>[0]
type OverrideAction = Parameters<NonNullable<ConversionConfig['overrideAction']>>[0]

/** Rules that only narrow the described type, and transformations that do not change it. */
const HARMLESS =
  /check|^(trim|trim_start|trim_end|to_lower_case|to_upper_case|normalize|brand|readonly|flavor)$/

/**
 * Describes the request side (`input`) or the response side (`output`) of a schema. Never throws: what JSON Schema cannot
 * express is described by the nearest schema that allows at least as much. `name` is a prefix that makes the names of the
 * definitions unique. With `hasDates`, a `Date` is described as the text that JSON makes of it.
 */
export function describe(schema: Schema, side: Side, name: string, hasDates = side === 'output'): Described {
  const problems: string[] = []
  const refName = (id: string) => `${name}.${id}`
  try {
    const { $schema, $defs, ...own } = toJsonSchema(schema, {
      target: 'draft-2020-12',
      typeMode: side,
      errorMode: 'ignore',
      overrideSchema: (context) => nearestSchema(context, hasDates, problems),
      overrideAction: (context) => nearestAction(context, side, problems),
      overrideRef: ({ referenceId }) => `#/components/schemas/${refName(referenceId)}`,
    }) as JsonSchema
    const definitions = Object.entries(($defs ?? {}) as Record<string, JsonSchema>)
    return {
      schema: own,
      definitions: Object.fromEntries(definitions.map(([id, definition]) => [refName(id), definition])),
      problems,
    }
  } catch (error) {
    return { schema: {}, definitions: {}, problems: [...problems, (error as Error).message] }
  }
}

function nearestSchema(
  { valibotSchema, jsonSchema, errors }: OverrideSchema,
  hasDates: boolean,
  problems: string[],
): object | null {
  // Some generators of clients need the type beside `const`.
  if ('const' in jsonSchema && jsonSchema.type === undefined && jsonSchema.const !== null)
    return { ...jsonSchema, type: typeof jsonSchema.const }
  if (errors === undefined) return null
  // JSON serializes a Date as text.
  if (valibotSchema.type === 'date' && hasDates) return { type: 'string', format: 'date-time' }
  problems.push(`JSON Schema cannot express "${valibotSchema.type}"; the document allows any value.`)
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
    problems.push('JSON Schema has no regular expression flags; the document omits the pattern.')
    return rest
  }
  if (kind !== 'transformation' || side === 'input') return null
  problems.push(`The output of "${type}" is unknown; add a schema after it. The document allows any value.`)
  return {}
}
