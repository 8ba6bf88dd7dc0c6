import type * as v from 'valibot'
import type { Caller } from '../../../application/use-cases/authenticate.ts'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import type { FailureReason } from '../failure-reasons.ts'
import type { RequestContext } from '../request/context.ts'
import type { FileResponse } from '../response/file-response.ts'
import type { JsonBody, ResponseFields } from '../response/json-body.ts'
import type { StreamedList } from '../response/streamed-list.ts'
import { type Auth, declareRoute, type Route, type Schema } from './declared-route.ts'
import type { PathParams, RoutePattern } from './route-pattern.ts'

type Output<S, Fallback> = S extends Schema ? v.InferOutput<S> : Fallback

type CallerContext<A extends Auth> = A extends 'customer'
  ? Caller
  : A extends 'service'
    ? { readonly service: string }
    : unknown

/** What a handler may return when the route declares `returns`: the fields, their JSON text, or the fields with one list streamed. */
type HandlerResult<R> = R extends Schema
  ? v.InferInput<R> extends ResponseFields
    ? Readable<v.InferInput<R>> | JsonBody | Streamable<Readable<v.InferInput<R>>>
    : never
  : ResponseFields | JsonBody | StreamedList

/** A response with any one of its lists streamed. */
type Streamable<A> = {
  [Field in keyof A & string]: NonNullable<A[Field]> extends readonly (infer Item)[]
    ? StreamedList<Field, Item, Omit<A, Field>>
    : never
}[keyof A & string]

/** The type with readonly properties and lists, because the service only reads a response. */
export type Readable<T> = T extends readonly (infer Item)[]
  ? readonly Readable<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Readable<T[Name]> }
    : T

interface TypedDeclaration<Pattern extends string, A extends Auth, B, Q, P, R> {
  /** Who may call: `customer`, `service` or `none`. A route without it does not compile, and stops the start. */
  readonly auth: A
  /** The abilities that the caller's token must have, all of them. */
  readonly abilities?: A extends 'customer' ? readonly string[] : never
  /**
   * The scopes that the caller's service token must have, all of them. An operator grants them by name. Default: `routes`,
   * which every service token has for which no scopes are written.
   */
  readonly scopes?: A extends 'service' ? readonly string[] : never
  /** The schema of the path parameters. Default: each is a text. */
  readonly params?: P
  /** The schema of the query, whose values are texts. Default: each parameter is a text. */
  readonly query?: Q
  /** With a schema, the route requires a JSON body. Without one, a body is read and discarded. */
  readonly body?: B
  /** The maximum size of the body in bytes. Default: the service's limit. */
  readonly bodyLimitBytes?: number
  /**
   * The fields of a success, beside `success`. Other fields are never sent. A response that does not fit is a bug: the
   * client gets 500, and the error is logged.
   */
  readonly returns?: R
  /** Milliseconds after which the client gets 503 and the request's signal aborts. Default: no deadline. */
  readonly deadlineMs?: number
  /** One line about the route, for the documentation. */
  readonly summary?: string
  /** The headings under which the documentation lists the route. */
  readonly tags?: readonly string[]
  /** The status of a success: 200, 201, 202 or 204. Default: 200. */
  readonly status?: 200 | 201 | 202 | 204
  /** The handler's failure reasons, beside those of `auth` and the schemas, for the documentation. */
  readonly throws?: readonly FailureReason[]
  /** Responds to a valid request: returns the fields of the success, or throws. */
  handle(
    context: RequestContext &
      CallerContext<A> & {
        readonly body: Output<B, undefined>
        readonly query: Output<Q, Readonly<Record<string, string>>>
        readonly params: Output<P, PathParams<Pattern>>
      },
    // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a response body returns nothing
  ): MaybePromise<HandlerResult<R> | (R extends Schema ? never : void)>
}

/** Declares a route below `/api`, typed from its schemas. Throws `RouteRefused` for a mistake. */
export function route<
  const Pattern extends RoutePattern,
  const A extends Auth,
  const B extends Schema | undefined = undefined,
  const Q extends Schema | undefined = undefined,
  const P extends Schema | undefined = undefined,
  const R extends Schema | undefined = undefined,
>(pattern: Pattern, declaration: TypedDeclaration<Pattern, A, B, Q, P, R>): Route {
  return declareRoute('/api', pattern, declaration as never)
}

/** Declares a public route of the service itself, outside `/api`. Throws `RouteRefused` for a mistake. */
export function probe(
  pattern: RoutePattern,
  declaration: {
    readonly summary?: string
    readonly tags?: readonly string[]
    handle(context: RequestContext): MaybePromise<ResponseFields | FileResponse | undefined>
  },
): Route {
  return declareRoute('', pattern, { ...declaration, auth: 'none' })
}
