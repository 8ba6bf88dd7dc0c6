import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/** A schema of an OpenAPI document. */
export type DocumentedSchema = { readonly [keyword: string]: unknown }

export interface DocumentedResponse {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<
    Record<
      string,
      {
        readonly schema: DocumentedSchema
        readonly example?: unknown
        readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
      }
    >
  >
}

export interface DocumentedOperation {
  readonly operationId: string
  readonly tags?: readonly string[]
  readonly summary?: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly description?: string
  readonly 'x-abilities'?: readonly string[]
  readonly 'x-scopes'?: readonly string[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly schema: DocumentedSchema
  }[]
  readonly requestBody?: DocumentedResponse
  readonly responses: Readonly<Record<string, DocumentedResponse & { readonly $ref?: string }>>
}

/** The parts of an OpenAPI document that the tests read. */
export interface OpenApi {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, DocumentedSchema>>
    readonly responses: Readonly<Record<string, DocumentedResponse>>
    readonly securitySchemes: Readonly<Record<string, DocumentedSchema>>
  }
}

/** Returns the violations of the specification's own schema. */
export async function faultsOf(document: object): Promise<readonly unknown[]> {
  const validator = new Validator()
  const { valid, errors } = await validator.validate(structuredClone(document) as Record<string, unknown>)
  return valid ? [] : [errors].flat()
}

/** Returns the document's operations with their methods and paths. */
export function operationsOf(
  document: OpenApi,
): readonly { readonly method: string; readonly path: string; readonly operation: DocumentedOperation }[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}

/** Returns the documented response of a status, with its reference resolved. */
export function responseOf(document: OpenApi, { responses }: DocumentedOperation, status: number) {
  const found = responses[status]
  if (found?.$ref === undefined) return found
  return document.components.responses[found.$ref.replace('#/components/responses/', '')]
}

/** Returns a validator of values by the document's schemas. It returns the violation, or null. */
export function judge(document: OpenApi): (schema: DocumentedSchema, value: unknown) => string | null {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'document:', ...document })
  const known = new Map<DocumentedSchema, ValidateFunction>()
  return function faultOf(schema, value) {
    const made = known.get(schema) ?? ajv.compile(withFullRefs(schema))
    known.set(schema, made)
    return made(value) ? null : ajv.errorsText(made.errors)
  }
}

function withFullRefs(schema: DocumentedSchema): DocumentedSchema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document:#/'))
}
