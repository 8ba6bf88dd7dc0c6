import type * as v from 'valibot'
import { ROUTES_SCOPE } from '../../../domain/service-token.ts'
import { durationMs } from '../../../lib/duration.ts'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import { OperatorError } from '../../../lib/operator-error.ts'
import type { ThrownError } from '../api-error.ts'
import type { HandlerResult } from '../response/send-response.ts'
import { findProblems } from './declaration-problems.ts'
import { listFields } from './schema-entries.ts'

/** The methods that a route may have. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Who may call: a customer with a token, a program with a service token, or any client. */
export type Auth = 'customer' | 'service' | 'none'

/** A valibot schema of a request part or a response. */
export type Schema = v.GenericSchema

/** The fields of a response. */
export type ObjectSchema = v.ObjectSchema<v.ObjectEntries, undefined>

/** A body that is not JSON: all its bytes, or a stream of them. */
export type RawBody = 'bytes' | 'stream'

/** A duration such as `90s` or `5m`. */
export type DurationText = `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

/** A response of `respond`, for the documentation. */
export interface DeclaredResponse {
  /** The media type of the body, such as `text/csv`. Default: JSON up to status 203, then no body. */
  readonly type?: string
  /** The names of its own headers. */
  readonly headers?: readonly string[]
  readonly description?: string
}

/** The responses of a route by status. */
export type DeclaredResponses = Readonly<Record<number, DeclaredResponse>>

/** A complete route, for the router and the dispatch. */
export interface Route {
  readonly method: Method
  /** The whole path, `/api` included. */
  readonly path: string
  readonly hasParams: boolean
  readonly auth: Auth
  readonly abilities: readonly string[]
  /** The longest time since the login of the caller, in milliseconds; null for any. */
  readonly freshMs: number | null
  /** The scopes that a service token must have, all of them. Empty unless `auth` is `service`. */
  readonly scopes: readonly string[]
  /** Whether an invalid token is refused only after all instances have stopped accepting it. */
  readonly settlesRefusals: boolean
  /** Whether callers may use HTTP Basic and failures have the body of RFC 6749, section 5.2, as OAuth clients expect. */
  readonly isOAuth: boolean
  /** Whether it also responds to every other method, OPTIONS included. */
  readonly takesAnyMethod: boolean
  /** Whether the response waits for no body, of whatever length: the connection then closes. */
  readonly ignoresBody: boolean
  readonly params: Schema | null
  readonly query: Schema | null
  /** The parameters of the query that are lists. */
  readonly listParameters: readonly string[]
  readonly body: Schema | RawBody | null
  /** The media types of a raw body; null for any. */
  readonly accepts: readonly string[] | null
  /** Whether the handler of a JSON route also gets the bytes of the body. */
  readonly rawBody: boolean
  readonly bodyLimitBytes: number | null
  readonly requestTimeoutMs: number | null
  readonly responses: DeclaredResponses | null
  readonly returns: ObjectSchema | null
  readonly deadlineMs: number | null
  readonly summary: string | null
  readonly tags: readonly string[]
  /** Whether it sends a script, style, image or other part of a page, and no HTML. */
  readonly isPageAsset: boolean
  readonly status: number
  /** The handler's failure reasons, beside those of every route of its kind. */
  readonly throws: readonly ThrownError[]
  readonly handle: (context: never) => MaybePromise<HandlerResult>
}

/** A mistake in a declaration, as one sentence. The service does not start. */
export class RouteRefused extends OperatorError {
  override readonly name = 'RouteRefused'
}

/** A route as it is declared, before defaults apply. */
export interface Declaration
  extends Partial<
    Omit<Route, 'method' | 'path' | 'hasParams' | 'freshMs' | 'requestTimeoutMs' | 'listParameters'>
  > {
  readonly fresh?: DurationText
  readonly requestTimeout?: DurationText
}

const PATTERN = /^(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/

/** Checks a declaration and applies defaults. Throws `RouteRefused` for its first mistake. */
export function declareRoute(base: string, pattern: string, declaration: Declaration): Route {
  const [, method, path] = (PATTERN.exec(pattern) ?? []) as [string?, Method?, string?]
  if (method === undefined || path === undefined) {
    throw new RouteRefused(
      `Route "${pattern}": write a method, one space and a path, such as "GET /orders/:id".`,
    )
  }
  const names: readonly string[] = path.match(/(?<=:)\w+/g) ?? []
  const { auth, handle } = declaration
  const [problem] = [...findProblems(method, base + path, names, declaration)]
  if (problem !== undefined || auth === undefined || handle === undefined) {
    throw new RouteRefused(`Route "${pattern}": ${problem}`)
  }
  return Object.freeze({
    method,
    path: base + path,
    hasParams: names.length > 0,
    auth,
    abilities: declaration.abilities ?? [],
    freshMs: durationMs(declaration.fresh ?? ''),
    scopes: requiredScopes(declaration),
    settlesRefusals: declaration.settlesRefusals ?? false,
    isOAuth: declaration.isOAuth ?? false,
    takesAnyMethod: declaration.takesAnyMethod ?? false,
    ignoresBody: declaration.ignoresBody ?? false,
    params: declaration.params ?? null,
    query: declaration.query ?? null,
    listParameters: listFields(declaration.query ?? null),
    body: declaration.body ?? null,
    accepts: declaration.accepts?.map((type) => type.toLowerCase()) ?? null,
    rawBody: declaration.rawBody ?? false,
    bodyLimitBytes: declaration.bodyLimitBytes ?? null,
    requestTimeoutMs: durationMs(declaration.requestTimeout ?? ''),
    responses: declaration.responses ?? null,
    returns: declaration.returns ?? null,
    deadlineMs: declaration.deadlineMs ?? null,
    summary: declaration.summary ?? null,
    tags: declaration.tags ?? [],
    isPageAsset: declaration.isPageAsset ?? false,
    status: declaration.status ?? 200,
    throws: declaration.throws ?? [],
    handle,
  })
}

function requiredScopes({ auth, scopes = [] }: Declaration): readonly string[] {
  return auth === 'service' && scopes.length === 0 ? [ROUTES_SCOPE] : scopes
}
