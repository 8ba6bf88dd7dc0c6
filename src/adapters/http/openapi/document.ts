import type { Route } from '../routing/declared-route.ts'
import { failureSchemas } from './failure-schemas.ts'
import { describeOperation, type Shared } from './operation.ts'

/** The service's data in the document. */
export interface ApiInfo {
  readonly title: string
  /** The program's description, before that of the responses. Null for none. */
  readonly description: string | null
  /** The version of the program. */
  readonly version: string
  /** The base URL, without a trailing slash. */
  readonly serverUrl: string
}

/** The OpenAPI 3.1 document of a table of routes. */
export interface ApiDocument {
  readonly document: Readonly<Record<string, unknown>>
  /** The parts of schemas that the document cannot express, as sentences that name route and part. */
  readonly problems: readonly string[]
}

/** Describes the routes in order. Pure; never throws for a schema (see `describe`). */
export function openApiDocument(routes: readonly Route[], info: ApiInfo): ApiDocument {
  const shared: Shared = { schemas: { ...failureSchemas(routes) }, responses: {}, problems: [] }
  const ids = new Set<string>()
  const paths = new Map<
    string,
    { template: string; names: readonly string[]; item: Record<string, object> }
  >()
  for (const route of routes) {
    // Parameter names do not distinguish paths, and a document may contain each path only once.
    const shape = route.path.replace(/:\w+/g, ':')
    const template = route.path.replace(/:(\w+)/g, '{$1}')
    const path = paths.get(shape) ?? { template, names: route.path.match(/(?<=:)\w+/g) ?? [], item: {} }
    paths.set(shape, path)
    path.item[route.method.toLowerCase()] = describeOperation(route, newId(route, ids), path.names, shared)
  }
  return {
    document: {
      openapi: '3.1.1',
      info: {
        title: info.title,
        version: info.version,
        description: info.description === null ? DESCRIPTION : `${info.description}\n\n${DESCRIPTION}`,
      },
      servers: [{ url: info.serverUrl }],
      paths: Object.fromEntries([...paths.values()].map(({ template, item }) => [template, item])),
      components: {
        schemas: shared.schemas,
        responses: shared.responses,
        securitySchemes: {
          loginToken: {
            type: 'http',
            scheme: 'bearer',
            description: "A customer's token: a login token, or a named token with its own abilities.",
          },
          serviceToken: {
            type: 'http',
            scheme: 'bearer',
            description: 'The secret of a program with its scopes, configured by the operator.',
          },
        },
      },
    },
    problems: shared.problems,
  }
}

const DESCRIPTION = [
  'A success has `success: true` and the fields of its operation. A failure has `success: false` and a `reason`,',
  'a stable identifier for clients. Besides the failures of each operation, the service returns 404 `not_found` for a',
  'path that does not exist, and 405 `method_not_allowed`, with `Allow`, for a method that the path does not support.',
].join(' ')

/** Returns an id such as `getOrdersById`, with a number appended when it is taken. */
function newId({ method, path }: Route, taken: Set<string>): string {
  const words = path
    .replace(/^\/api\//, '/')
    .replaceAll('/:', '/by-')
    .split(/[^A-Za-z0-9]+/)
  const id =
    method.toLowerCase() + words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')
  let free = id
  for (let number = 2; taken.has(free); number++) free = `${id}${number}`
  taken.add(free)
  return free
}
