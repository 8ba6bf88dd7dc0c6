import findMyWay, { type HTTPMethod } from 'find-my-way'
import { InvalidRequest, MethodNotAllowed, NotFound } from '../errors.ts'
import { type Route, RouteRefused } from './declared-route.ts'

/** The match of a request line. `allow` is the value of the Allow header: every method that does not get 405. */
export type Match =
  | { readonly kind: 'route'; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'options'; readonly allow: string }

/** Matches a method and a request target. Throws `NotFound`, `MethodNotAllowed` or `InvalidRequest`. */
export type Router = (method: string, target: string) => Match

/** Creates the router of the routes. Throws `RouteRefused` when two of them have the same method and path. */
export function createRouter(routes: readonly Route[]): Router {
  refuseDuplicates(routes)
  // With the default of 100 characters, a longer parameter would get 404.
  const tree = findMyWay({ maxParamLength: 16_384 })
  for (const route of routes)
    tree.on(route.method, route.path, () => {}, { kind: 'route', route, params: NO_PARAMS } satisfies Match)
  const methods = [...new Set(routes.map(({ method }) => method))]
  const anyMethod = new Map(
    routes
      .filter(({ takesAnyMethod }) => takesAnyMethod)
      .map((route) => [route.path, { kind: 'route', route, params: NO_PARAMS } satisfies Match]),
  )

  return function match(method, target) {
    if (target === '*') {
      if (method === 'OPTIONS') return { kind: 'options', allow: 'OPTIONS' }
      throw new InvalidRequest({ closes: false })
    }
    const path = escapePercents(parsePath(target))
    const found = find(method === 'HEAD' ? 'GET' : method, path) ?? anyMethod.get(path) ?? null
    if (found !== null) return found
    const allow = allowHeader(methods.filter((other) => find(other, path) !== null))
    if (allow === null) throw new NotFound()
    if (method === 'OPTIONS') return { kind: 'options', allow }
    throw new MethodNotAllowed(allow)
  }

  function find(method: string, path: string): Match | null {
    const found = tree.find(method as HTTPMethod, path)
    if (found === null) return null
    const match = found.store as Match & { kind: 'route' }
    const { route } = match
    if (!route.hasParams) return match
    const params = Object.entries(found.params)
    // The tree accepts an empty parameter; the service does not.
    if (params.some(([, value]) => value === '')) return null
    const values = params.map(([name, value = '']) => [name, decode(value)] as const)
    // PostgreSQL text cannot contain NUL.
    if (values.some(([, value]) => value.includes('\u0000'))) throw new InvalidRequest({ closes: false })
    return { kind: 'route', route, params: Object.fromEntries(values) }
  }
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

function refuseDuplicates(routes: readonly Route[]): void {
  const shapes = new Set<string>()
  for (const { method, path } of routes) {
    // Parameter names do not distinguish routes.
    const shape = `${method} ${path.replace(/:\w+/g, ':')}`
    if (shapes.has(shape)) throw new RouteRefused(`Route "${method} ${path}" is declared twice.`)
    shapes.add(shape)
  }
}

function allowHeader(methods: readonly string[]): string | null {
  if (methods.length === 0) return null
  return [...methods, 'OPTIONS', ...(methods.includes('GET') ? ['HEAD'] : [])].sort().join(', ')
}

/** Returns the path of an origin-form or absolute-form target (RFC 9112, section 3.2), without the query. */
function parsePath(target: string): string {
  const query = target.indexOf('?')
  let path = query === -1 ? target : target.slice(0, query)
  if (path[0] !== '/') {
    const authority = /^https?:\/\/[^/]+/i.exec(path)
    if (authority === null) throw new InvalidRequest({ closes: false })
    path = path.slice(authority[0].length) || '/'
  }
  if (path.includes('%')) decode(path)
  return path
}

/** Escapes the percent signs, so that the tree compares static segments as they were sent, not decoded. */
function escapePercents(path: string): string {
  return path.includes('%') ? path.replaceAll('%', '%25') : path
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new InvalidRequest({ closes: false })
  }
}
