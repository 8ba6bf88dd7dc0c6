import type * as v from 'valibot'
import type { Caller } from '../../application/authenticate.ts'
import type { Patience } from '../../application/patience.ts'
import type { Soon } from '../../application/soon.ts'
import { isAbility } from '../../domain/abilities.ts'
import type { AnswerText } from './answer-text.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Method and path below `/api`; a part such as `:id` is a parameter. */
export type RoutePattern = `${Method} /${string}`

/** Who may call: a customer by token, a program by service token, or anybody. */
export type Auth = 'customer' | 'service' | 'none'

type Schema = v.GenericSchema
type Output<S, Fallback> = S extends Schema ? v.InferOutput<S> : Fallback

type ParameterName<Path extends string> = Path extends `${infer Part}/${infer Rest}`
  ? ParameterName<Part> | ParameterName<Rest>
  : Path extends `:${infer Name}`
    ? Name
    : never
type PathParams<Pattern extends string> = { readonly [Name in ParameterName<Pattern>]: string }

/** What every handler is given, whoever calls. */
export interface RequestContext {
  readonly requestId: string
  /** Header lines by lower-case name, as node:http has them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** What this request may still spend on waiting for its stores. */
  readonly patience: Patience
}

type CallerContext<A extends Auth> = A extends 'customer'
  ? Caller
  : A extends 'service'
    ? { readonly service: string }
    : unknown

/** The fields of a success; `success: true` is put before them. */
export type AnswerFields = Readonly<Record<string, unknown>>

interface Declaration<Pattern extends string, A extends Auth, B, Q, P> {
  /** Required: forgetting to decide who may call does not compile, and stops the start. */
  readonly auth: A
  /** Every one is required of the caller's token. */
  readonly abilities?: A extends 'customer' ? readonly string[] : never
  readonly params?: P
  readonly query?: Q
  /** A route with a body schema requires JSON; without one, a body is read and dropped. */
  readonly body?: B
  /** Bytes; the service's limit where it is not given. */
  readonly bodyLimitBytes?: number
  /** Of the success; 200 where it is not given. */
  readonly status?: 200 | 201 | 202 | 204
  handle(
    context: RequestContext &
      CallerContext<A> & {
        readonly body: Output<B, undefined>
        readonly query: Output<Q, Readonly<Record<string, string>>>
        readonly params: Output<P, PathParams<Pattern>>
      },
    // biome-ignore lint/suspicious/noConfusingVoidType: a handler that answers nothing returns nothing
  ): Soon<AnswerFields | AnswerText | void>
}

/** A route as the router and the dispatch read it. */
export interface Route {
  readonly method: Method
  /** The whole path, `/api` included. */
  readonly path: string
  readonly hasParams: boolean
  readonly auth: Auth
  readonly abilities: readonly string[]
  readonly params: Schema | null
  readonly query: Schema | null
  readonly body: Schema | null
  readonly bodyLimitBytes: number | null
  readonly status: number
  readonly handle: (context: never) => Soon<AnswerFields | AnswerText | undefined>
}

/** A mistake in a declaration, as one sentence; it stops the start. */
export class RouteRefused extends Error {
  override readonly name = 'RouteRefused'
  /** The message is written for operators and is shown as it is. */
  readonly forOperators = true
}

/** Declares a route below `/api`: a plain value, typed from its schemas. */
export function route<
  const Pattern extends RoutePattern,
  const A extends Auth,
  const B extends Schema | undefined = undefined,
  const Q extends Schema | undefined = undefined,
  const P extends Schema | undefined = undefined,
>(pattern: Pattern, declaration: Declaration<Pattern, A, B, Q, P>): Route {
  return declareRoute('/api', pattern, declaration as unknown as LooseDeclaration)
}

/** Declares a route of the service itself, outside `/api`, that anybody may call. */
export function probe(pattern: RoutePattern, handle: () => Promise<AnswerFields | undefined>): Route {
  return declareRoute('', pattern, { auth: 'none', handle })
}

interface LooseDeclaration extends Partial<Omit<Route, 'method' | 'path'>> {}

function declareRoute(base: string, pattern: string, declaration: LooseDeclaration): Route {
  const parts = /^(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/.exec(pattern)
  if (parts === null)
    throw new RouteRefused(
      `Route "${pattern}": write a method, one blank and a path, such as "GET /orders/:id".`,
    )
  const [, method, path] = parts as unknown as [string, Method, string]
  const refuse = (problem: string) => new RouteRefused(`Route "${pattern}": ${problem}`)

  if (!/^(\/(:[a-z][A-Za-z0-9]*|[A-Za-z0-9._~-]+))+$/.test(path)) {
    throw refuse('a path is parts of letters, digits and ._~-, or :parameters, with no slash at its end.')
  }
  const names = path.match(/(?<=:)\w+/g) ?? []
  if (new Set(names).size < names.length) throw refuse('a parameter stands in it twice.')
  const { auth, handle, abilities = [], bodyLimitBytes = null } = declaration
  if (auth !== 'customer' && auth !== 'service' && auth !== 'none') {
    throw refuse('auth must be "customer", "service" or "none".')
  }
  if (abilities.length > 0 && auth !== 'customer') throw refuse('abilities need auth "customer".')
  const wrong = abilities.find((ability) => !isAbility(ability))
  if (wrong !== undefined) throw refuse(`"${wrong}" is not an ability such as orders:read.`)
  if (bodyLimitBytes !== null && !(Number.isInteger(bodyLimitBytes) && bodyLimitBytes > 0)) {
    throw refuse('bodyLimitBytes must be a whole number above 0.')
  }
  if (typeof handle !== 'function') throw refuse('handle must be a function.')
  if (declaration.body && method === 'GET') throw refuse('a GET has no body.')

  return Object.freeze({
    method,
    path: base + path,
    hasParams: names.length > 0,
    auth,
    abilities,
    params: declaration.params ?? null,
    query: declaration.query ?? null,
    body: declaration.body ?? null,
    bodyLimitBytes,
    status: declaration.status ?? 200,
    handle,
  })
}
