import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import type { ThrownError } from '../api-error.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { CustomResponse } from '../response/custom-response.ts'
import type { FileResponse } from '../response/file-response.ts'
import type { ResponseFields } from '../response/json-body.ts'
import {
  type Auth,
  type DeclaredResponses,
  type DurationText,
  declareRoute,
  type RawBody,
  type Route,
  type Schema,
} from './declared-route.ts'
import type { BodyContext, CallerContext, Output, TypedResult } from './handler-types.ts'
import type { PathParams, RoutePattern } from './route-pattern.ts'
import type { DeclaredTypes, TypedRoute } from './route-types.ts'

interface TypedDeclaration<Pattern extends string, A extends Auth, B, Q, P, R, S, Raw, Status, Thrown> {
  /** Who may call: `customer`, `service` or `none`. A route without it does not compile, and stops the start. */
  readonly auth: A
  /** The abilities that the caller's token must have, all of them. */
  readonly abilities?: A extends 'customer' ? readonly string[] : never
  /**
   * The longest time since the caller's login, such as `15m`. An older login gets 401 `reauthentication_required` (RFC 9470), a
   * named token 403 `login_token_required`. Default: any time.
   */
  readonly fresh?: A extends 'customer' ? DurationText : never
  /** The scopes that the caller's service token must have. Default: `routes`, which tokens without written scopes have. */
  readonly scopes?: A extends 'service' ? readonly string[] : never
  /** The schema of the path parameters. Default: each is a text. */
  readonly params?: P
  /** The schema of the query, whose values are texts. Default: each parameter is a text. */
  readonly query?: Q
  /**
   * With a schema, the route requires a JSON body. With `bytes` or `stream`, the handler gets the body as a `Uint8Array` or
   * as a `Readable`, which may be empty. Without it, a body is read and discarded.
   */
  readonly body?: B
  /** The media types of a body of `bytes` or `stream`, such as `text/csv` or `image/*`. Default: any. */
  readonly accepts?: B extends RawBody ? readonly string[] : never
  /** With `true`, the handler of a JSON route also gets the bytes of the body as `rawBody`. */
  readonly rawBody?: B extends Schema ? Raw : never
  /** The maximum size of the body in bytes. Default: the service's limit. */
  readonly bodyLimitBytes?: number
  /** The time in which the whole request must arrive, such as `5m`. Default: `REQUEST_TIMEOUT`. */
  readonly requestTimeout?: DurationText
  /**
   * The fields of a success, beside `success`. Other fields are never sent. A response that does not fit is a bug: the
   * client gets 500, and the error is logged.
   */
  readonly returns?: R
  /** The statuses of `respond`, with media type and headers, for the documentation. Other statuses then do not compile. */
  readonly responses?: S
  /** Milliseconds after which the client gets 503 and the request's signal aborts. Default: no deadline. */
  readonly deadlineMs?: number
  /** One line about the route, for the documentation. */
  readonly summary?: string
  /** The headings under which the documentation lists the route. */
  readonly tags?: readonly string[]
  /** The status of a success: 200, 201, 202 or 204. Default: 200. */
  readonly status?: Status
  /** The handler's errors, as reasons or classes, beside those of `auth` and the schemas, for the documentation. */
  readonly throws?: Thrown
  /** Responds to a valid request: returns the fields of the success, or throws. */
  handle(
    context: RequestContext &
      CallerContext<A> &
      BodyContext<B, Raw> & {
        readonly query: Output<Q, Readonly<Record<string, string>>>
        readonly params: Output<P, PathParams<Pattern>>
      },
    // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a response body returns nothing
  ): MaybePromise<TypedResult<R, S> | (R extends Schema ? never : void)>
}

/** Declares a route below `/api`, typed from its schemas for its handler and for clients. Throws `RouteRefused` for a mistake. */
export function route<
  const Pattern extends RoutePattern,
  const A extends Auth,
  const B extends Schema | RawBody | undefined = undefined,
  const Q extends Schema | undefined = undefined,
  const P extends Schema | undefined = undefined,
  const R extends (Schema & { readonly type: 'object' }) | undefined = undefined,
  const S extends DeclaredResponses | undefined = undefined,
  const Raw extends boolean = false,
  const Status extends 200 | 201 | 202 | 204 = 200,
  const Thrown extends readonly ThrownError[] = readonly [],
>(
  pattern: Pattern,
  declaration: TypedDeclaration<Pattern, A, B, Q, P, R, S, Raw, Status, Thrown>,
): TypedRoute<DeclaredTypes<Pattern, B, Q, P, R, S, Status, Thrown>> {
  return declareRoute('/api', pattern, declaration as never)
}

/** Declares a public route of the service itself, outside `/api`. Throws `RouteRefused` for a mistake. */
export function probe(
  pattern: RoutePattern,
  declaration: {
    readonly summary?: string
    readonly tags?: readonly string[]
    handle(context: RequestContext): MaybePromise<ResponseFields | FileResponse | CustomResponse | undefined>
  },
): Route {
  return declareRoute('', pattern, { ...declaration, auth: 'none' })
}
