import type * as v from 'valibot'
import { ROUTES_SCOPE } from '../../../domain/service-token.ts'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import { OperatorError } from '../../../lib/operator-error.ts'
import type { FailureReason } from '../failure-reasons.ts'
import type { FileResponse } from '../response/file-response.ts'
import type { JsonBody, ResponseFields } from '../response/json-body.ts'
import type { StreamedList } from '../response/streamed-list.ts'
import { findProblems } from './declaration-problems.ts'

/** The methods that a route may have. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Who may call: a customer with a token, a program with a service token, or any client. */
export type Auth = 'customer' | 'service' | 'none'

/** A valibot schema of a request part or a response. */
export type Schema = v.GenericSchema

/** The fields of a response. */
export type ObjectSchema = v.ObjectSchema<v.ObjectEntries, undefined>

/** A complete route, for the router and the dispatch. */
export interface Route {
  readonly method: Method
  /** The whole path, `/api` included. */
  readonly path: string
  readonly hasParams: boolean
  readonly auth: Auth
  readonly abilities: readonly string[]
  /** The scopes that a service token must have, all of them. Empty unless `auth` is `service`. */
  readonly scopes: readonly string[]
  /** Whether an invalid token is refused only after all instances have stopped accepting it. */
  readonly settlesRefusals: boolean
  readonly params: Schema | null
  readonly query: Schema | null
  readonly body: Schema | null
  readonly bodyLimitBytes: number | null
  readonly returns: ObjectSchema | null
  readonly deadlineMs: number | null
  readonly summary: string | null
  readonly tags: readonly string[]
  readonly status: number
  /** The handler's failure reasons, beside those of every route of its kind. */
  readonly throws: readonly FailureReason[]
  readonly handle: (
    context: never,
  ) => MaybePromise<ResponseFields | JsonBody | FileResponse | StreamedList | undefined>
}

/** A mistake in a declaration, as one sentence. The service does not start. */
export class RouteRefused extends OperatorError {
  override readonly name = 'RouteRefused'
}

/** A route as it is declared, before defaults apply. */
export interface Declaration extends Partial<Omit<Route, 'method' | 'path' | 'hasParams'>> {}

/** Checks a declaration and applies defaults. Throws `RouteRefused` for its first mistake. */
export function declareRoute(base: string, pattern: string, declaration: Declaration): Route {
  const [, method, path] = (/^(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/.exec(pattern) ?? []) as [
    string?,
    Method?,
    string?,
  ]
  if (method === undefined || path === undefined) {
    throw new RouteRefused(
      `Route "${pattern}": write a method, one space and a path, such as "GET /orders/:id".`,
    )
  }
  const names: readonly string[] = path.match(/(?<=:)\w+/g) ?? []
  const { auth, handle } = declaration
  const [problem] = [...findProblems(method, path, names, declaration)]
  if (problem !== undefined || auth === undefined || handle === undefined) {
    throw new RouteRefused(`Route "${pattern}": ${problem}`)
  }
  return Object.freeze({
    method,
    path: base + path,
    hasParams: names.length > 0,
    auth,
    abilities: declaration.abilities ?? [],
    scopes: requiredScopes(declaration),
    settlesRefusals: declaration.settlesRefusals ?? false,
    params: declaration.params ?? null,
    query: declaration.query ?? null,
    body: declaration.body ?? null,
    bodyLimitBytes: declaration.bodyLimitBytes ?? null,
    returns: declaration.returns ?? null,
    deadlineMs: declaration.deadlineMs ?? null,
    summary: declaration.summary ?? null,
    tags: declaration.tags ?? [],
    status: declaration.status ?? 200,
    throws: declaration.throws ?? [],
    handle,
  })
}

function requiredScopes({ auth, scopes = [] }: Declaration): readonly string[] {
  return auth === 'service' && scopes.length === 0 ? [ROUTES_SCOPE] : scopes
}
