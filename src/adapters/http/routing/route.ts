import type * as v from 'valibot'
import type { Caller } from '../../../application/use-cases/authenticate.ts'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import type { FailureReason } from '../errors.ts'
import type { RequestContext } from '../request/context.ts'
import type { FileResponse } from '../response/file-response.ts'
import type { JsonBody, ResponseFields } from '../response/json-body.ts'
import type { StreamedList } from '../response/streamed-list.ts'
import { type Auth, declareRoute, type Method, type Route, type Schema } from './declared-route.ts'

/** Method and path below `/api`; a part such as `:id` is a parameter. */
export type RoutePattern = `${Method} /${string}`

type Output<S, Fallback> = S extends Schema ? v.InferOutput<S> : Fallback

type ParameterName<Path extends string> = Path extends `${infer Part}/${infer Rest}`
  ? ParameterName<Part> | ParameterName<Rest>
  : Path extends `:${infer Name}`
    ? Name
    : never
type PathParams<Pattern extends string> = { readonly [Name in ParameterName<Pattern>]: string }

type CallerContext<A extends Auth> = A extends 'customer'
  ? Caller
  : A extends 'service'
    ? { readonly service: string }
    : unknown

/** What a handler may answer where the route declares what it returns: that, its text, or the same with one list streamed. */
type Answer<R> = R extends Schema
  ? v.InferInput<R> extends ResponseFields
    ? Readable<v.InferInput<R>> | JsonBody | Streamable<Readable<v.InferInput<R>>>
    : never
  : ResponseFields | JsonBody | StreamedList

/** An answer, any one of whose lists is streamed. */
type Streamable<A> = {
  [Field in keyof A & string]: NonNullable<A[Field]> extends readonly (infer Item)[]
    ? StreamedList<Field, Item, Omit<A, Field>>
    : never
}[keyof A & string]

/** The same, also where it cannot be written to: an answer is only read. */
export type Readable<T> = T extends readonly (infer Item)[]
  ? readonly Readable<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Readable<T[Name]> }
    : T

interface Declaration<Pattern extends string, A extends Auth, B, Q, P, R> {
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
  /**
   * What a success holds beside `success`. What is not in it never leaves, and an answer that does not fit is a bug:
   * 500, and a line in the log.
   */
  readonly returns?: R
  /** Milliseconds after which the request is answered 503 and its signal aborts; no end where it is not given. */
  readonly deadlineMs?: number
  /** One line about the route, for its documentation. */
  readonly summary?: string
  /** The headings that the documentation lists it under. */
  readonly tags?: readonly string[]
  /** Of the success; 200 where it is not given. */
  readonly status?: 200 | 201 | 202 | 204
  /** The reasons that the handler refuses for, beside those of its `auth` and its schemas, for its documentation. */
  readonly throws?: readonly FailureReason[]
  handle(
    context: RequestContext &
      CallerContext<A> & {
        readonly body: Output<B, undefined>
        readonly query: Output<Q, Readonly<Record<string, string>>>
        readonly params: Output<P, PathParams<Pattern>>
      },
    // biome-ignore lint/suspicious/noConfusingVoidType: a handler that answers nothing returns nothing
  ): MaybePromise<Answer<R> | (R extends Schema ? never : void)>
}

/** Declares a route below `/api`: a plain value, typed from its schemas. */
export function route<
  const Pattern extends RoutePattern,
  const A extends Auth,
  const B extends Schema | undefined = undefined,
  const Q extends Schema | undefined = undefined,
  const P extends Schema | undefined = undefined,
  const R extends Schema | undefined = undefined,
>(pattern: Pattern, declaration: Declaration<Pattern, A, B, Q, P, R>): Route {
  return declareRoute('/api', pattern, declaration as never)
}

/** Declares a route of the service itself, outside `/api`, that anybody may call. */
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
