import { resolved } from './reference.js'

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** Returns the operations of the document by their first tag, in the order of the document. */
export function groupByTag(api) {
  const groups = new Map()
  for (const operation of listOperations(api)) {
    const { tag } = operation
    if (!groups.has(tag)) groups.set(tag, { tag, operations: [] })
    groups.get(tag).operations.push(operation)
  }
  return [...groups.values()]
}

/** Returns the operations, each with its id, path, method, tag, security scheme or null, and resolved parameters. */
export function listOperations(api) {
  return Object.entries(api.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => {
      const { operationId: id, tags, security = [], parameters = [], ...rest } = item[method]
      return {
        ...rest,
        id,
        path,
        method,
        tag: tags?.[0] ?? 'Other routes',
        scheme: security.flatMap((requirement) => Object.keys(requirement))[0] ?? null,
        parameters: parameters.map((one) => ({ ...one, schema: resolved(api, one.schema) })),
        serverUrl: api.servers[0].url,
      }
    }),
  )
}
