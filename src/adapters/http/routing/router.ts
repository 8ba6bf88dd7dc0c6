import findMyWay, { type HTTPMethod } from 'find-my-way'
import { InvalidRequest, MethodNotAllowed, NotFound } from '../errors.ts'
import { type Route, RouteRefused } from './declared-route.ts'

/** What a request line leads to. `allow` is the value of the Allow header: every method but those answered 405. */
export type Match =
  | { readonly kind: 'route'; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'options'; readonly allow: string }

/** Answers what a method and a request target lead to, or throws what the caller is to be told. */
export type Router = (method: string, target: string) => Match

/** Makes the router of a table; throws `RouteRefused` for two routes of one method and path. */
export function createRouter(routes: readonly Route[]): Router {
  refuseDuplicates(routes)
  // The default of 100 characters would answer 404 for a longer parameter.
  const tree = findMyWay({ maxParamLength: 16_384 })
  for (const route of routes) tree.on(route.method, route.path, () => {}, route)
  const methods = [...new Set(routes.map(({ method }) => method))]

  return function match(method, target) {
    if (target === '*') {
      if (method === 'OPTIONS') return { kind: 'options', allow: 'OPTIONS' }
      throw new InvalidRequest({ closes: false })
    }
    const path = literal(pathOf(target))
    const found = find(method === 'HEAD' ? 'GET' : method, path)
    if (found !== null) return found
    const allow = allowed(methods.filter((other) => find(other, path) !== null))
    if (allow === null) throw new NotFound()
    if (method === 'OPTIONS') return { kind: 'options', allow }
    throw new MethodNotAllowed(allow)
  }

  function find(method: string, path: string): Match | null {
    const found = tree.find(method as HTTPMethod, path)
    if (found === null) return null
    const route = found.store as Route
    if (!route.hasParams) return { kind: 'route', route, params: NO_PARAMS }
    const params = Object.entries(found.params)
    // The tree lets a parameter be empty; ours never is.
    if (params.some(([, value]) => value === '')) return null
    const values = params.map(([name, value = '']) => [name, decoded(value)] as const)
    // A NUL is no text that a store could look for.
    if (values.some(([, value]) => value.includes('\u0000'))) throw new InvalidRequest({ closes: false })
    return { kind: 'route', route, params: Object.fromEntries(values) }
  }
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

function refuseDuplicates(routes: readonly Route[]): void {
  const shapes = new Set<string>()
  for (const { method, path } of routes) {
    // What a parameter is called makes no other route.
    const shape = `${method} ${path.replace(/:\w+/g, ':')}`
    if (shapes.has(shape)) throw new RouteRefused(`Route "${method} ${path}" is declared twice.`)
    shapes.add(shape)
  }
}

function allowed(methods: readonly string[]): string | null {
  if (methods.length === 0) return null
  return [...methods, 'OPTIONS', ...(methods.includes('GET') ? ['HEAD'] : [])].sort().join(', ')
}

/** The path of an origin-form or absolute-form target (RFC 9112, section 3.2), without the query. */
function pathOf(target: string): string {
  const query = target.indexOf('?')
  let path = query === -1 ? target : target.slice(0, query)
  if (path[0] !== '/') {
    const authority = /^https?:\/\/[^/]+/i.exec(path)
    if (authority === null) throw new InvalidRequest({ closes: false })
    path = path.slice(authority[0].length) || '/'
  }
  if (path.includes('%')) decoded(path)
  return path
}

/** The same path with its escapes escaped: static parts are compared as they were sent, not decoded. */
function literal(path: string): string {
  return path.includes('%') ? path.replaceAll('%', '%25') : path
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new InvalidRequest({ closes: false })
  }
}
