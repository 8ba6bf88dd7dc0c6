import { STATUS_CODES } from 'node:http'
import type { DeclaredResponse, RawBody, Route, Schema } from '../routing/declared-route.ts'
import { bodyExamples, exampleInput, exampleOutput } from './example.ts'
import { describeFailures } from './failures.ts'
import { describe, type JsonSchema } from './json-schema.ts'

/** The components that the operations of a document share. `describeOperation` adds to them. */
export interface Shared {
  readonly schemas: Record<string, JsonSchema>
  readonly responses: Record<string, object>
  readonly problems: string[]
}

/** Returns the OpenAPI 3.1 operation. `names` are the path's parameter names in the document, in order. */
export function describeOperation(
  route: Route,
  id: string,
  names: readonly string[],
  shared: Shared,
): object {
  const { auth, abilities, scopes, summary, tags } = route
  const parameters = [...pathParameters(), ...queryParameters()]
  return {
    operationId: id,
    ...(summary === null ? {} : { summary }),
    ...(tags.length === 0 ? {} : { tags }),
    ...requirements('The token needs the abilities', 'x-abilities', abilities),
    ...requirements('The service token needs the scopes', 'x-scopes', scopes),
    security:
      auth === 'none' ? [] : [auth === 'customer' ? { loginToken: abilities } : { serviceToken: scopes }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === null ? {} : { requestBody: { required: true, content: requestContent(route.body) } }),
    responses: { ...successes(), ...failures() },
  }

  function addSchema(schema: Schema, side: 'input' | 'output', part: string): JsonSchema {
    const { schema: own, definitions, problems } = describe(schema, side, `${id}.${part}`)
    Object.assign(shared.schemas, definitions)
    shared.problems.push(...problems.map((problem) => `${route.method} ${route.path}, ${part}: ${problem}`))
    return own
  }

  function pathParameters(): readonly object[] {
    const own = route.path.match(/(?<=:)\w+/g) ?? []
    const { properties = {} } = fields(route.params, 'params')
    const input = route.params === null ? undefined : exampleInput(route.params)
    const examples = (input ?? {}) as Record<string, unknown>
    return own.map((name, i) => ({
      name: names[i],
      in: 'path',
      required: true,
      schema: properties[name] ?? { type: 'string', minLength: 1 },
      ...(name in examples ? { example: examples[name] } : {}),
    }))
  }

  function queryParameters(): readonly object[] {
    if (route.query === null) return []
    const { properties, required = [], ...rest } = fields(route.query, 'query')
    // The parameter names are not declared: describe the query as one object.
    if (properties === undefined)
      return [{ name: 'query', in: 'query', style: 'form', explode: true, schema: rest }]
    return Object.entries(properties).map(([name, schema]) => ({
      name,
      in: 'query',
      required: required.includes(name),
      schema,
    }))
  }

  function fields(schema: Schema | null, part: string): Fields {
    return schema === null ? {} : addSchema(schema, 'input', part)
  }

  function requestContent(body: Schema | RawBody): object {
    if (typeof body === 'object') return json(addSchema(body, 'input', 'body'), bodyExamples(body))
    // OpenAPI 3.1 describes raw bytes by a media type without a schema.
    return Object.fromEntries((route.accepts ?? ['*/*']).map((type) => [type, {}]))
  }

  function successes(): object {
    const responses = route.responses ?? { [route.status]: {} }
    return Object.fromEntries(
      Object.entries(responses).map(([code, own]) => [code, success(Number(code), own)]),
    )
  }

  function success(status: number, { type, headers = [], description }: DeclaredResponse): object {
    const hasFields = type === undefined && status <= 203
    const names = ['X-Request-Id', ...headers]
    return {
      description: description ?? (hasFields ? 'Success.' : `${STATUS_CODES[status]}.`),
      headers: Object.fromEntries(names.map((name) => [name, { schema: { type: 'string' } }])),
      ...(type === undefined ? {} : { content: { [type]: {} } }),
      ...(hasFields ? { content: json(successSchema(), successExample()) } : {}),
    }
  }

  function successSchema(): JsonSchema {
    const own: Fields = route.returns === null ? {} : addSchema(route.returns, 'output', 'response')
    return {
      ...own,
      type: 'object',
      required: ['success', ...(own.required ?? [])],
      properties: { success: { type: 'boolean', const: true }, ...own.properties },
    }
  }

  function successExample(): object {
    const example = route.returns === null ? {} : exampleOutput(route.returns)
    return example === undefined ? {} : { example: { success: true, ...(example as object) } }
  }

  function json(schema: JsonSchema, examples: object): object {
    return { 'application/json': { schema, ...examples } }
  }

  function failures(): object {
    return Object.fromEntries(
      describeFailures(route).map(([status, name, response]) => {
        return [status, { $ref: `#/components/responses/${shareResponse(name, response)}` }]
      }),
    )
  }

  /** Returns the name of an equal response of the document. Adds the response, with a number where the name is taken. */
  function shareResponse(name: string, response: object): string {
    const text = JSON.stringify(response)
    for (let n = 1; ; n++) {
      const numbered = n === 1 ? name : `${name}.${n}`
      shared.responses[numbered] ??= response
      if (JSON.stringify(shared.responses[numbered]) === text) return numbered
    }
  }
}

/** Returns the description of what a token needs, for readers and as an extension of OpenAPI; nothing without names. */
function requirements(sentence: string, extension: string, names: readonly string[]): object {
  if (names.length === 0) return {}
  const list = names.map((name) => `\`${name}\``).join(', ')
  return { description: `${sentence}: ${list}.`, [extension]: names }
}

type Fields = JsonSchema & {
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}
