import type { Route } from '../routing/declared-route.ts'
import { FAILURE_SCHEMAS } from './failures.ts'
import { describeOperation, type Shared } from './operation.ts'

/** What a document says of the service as a whole. */
export interface ApiInfo {
  readonly title: string
  /** The label of the API, which changes only with its contract. */
  readonly label: string
  /** The base address, without a slash at its end. */
  readonly serverUrl: string
}

/** A table of routes as a document of OpenAPI 3.1. */
export interface ApiDocument {
  readonly document: Readonly<Record<string, unknown>>
  /** What of the schemas could not be said in it, as whole sentences that name route and part. */
  readonly problems: readonly string[]
}

/** Describes the routes in their order. Pure, and never throws for a schema: see `describe`. */
export function openApiDocument(routes: readonly Route[], { title, label, serverUrl }: ApiInfo): ApiDocument {
  const shared: Shared = { schemas: { ...FAILURE_SCHEMAS }, responses: {}, problems: [] }
  const ids = new Set<string>()
  const paths = new Map<
    string,
    { template: string; names: readonly string[]; item: Record<string, object> }
  >()
  for (const route of routes) {
    // What a parameter is called makes no other path, and a document may hold each of them once.
    const shape = route.path.replace(/:\w+/g, ':')
    const template = route.path.replace(/:(\w+)/g, '{$1}')
    const path = paths.get(shape) ?? { template, names: route.path.match(/(?<=:)\w+/g) ?? [], item: {} }
    paths.set(shape, path)
    path.item[route.method.toLowerCase()] = describeOperation(route, newId(route, ids), path.names, shared)
  }
  return {
    document: {
      openapi: '3.1.1',
      info: { title, version: label, description: DESCRIPTION },
      servers: [{ url: serverUrl }],
      paths: Object.fromEntries([...paths.values()].map(({ template, item }) => [template, item])),
      components: {
        schemas: shared.schemas,
        responses: shared.responses,
        securitySchemes: {
          loginToken: {
            type: 'http',
            scheme: 'bearer',
            description: "A customer's token: that of a login, or a named one with abilities of its own.",
          },
          serviceToken: {
            type: 'http',
            scheme: 'bearer',
            description: 'The secret of a program, which the operator has configured.',
          },
        },
      },
    },
    problems: shared.problems,
  }
}

const DESCRIPTION = [
  'A success has `success: true` and the fields of its operation. A failure has `success: false` and a `reason`,',
  'a stable word to switch on. Beside the failures of each operation: 404 `not_found` for a path that does not',
  'exist, and 405 `method_not_allowed`, with `Allow`, for a method that the path does not have.',
].join(' ')

/** Such as `getOrdersById`; a number is put behind one that is taken. */
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
