import type * as v from 'valibot'
import { isAbility } from '../../../domain/abilities.ts'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import { type FailureReason, STATUS_BY_REASON } from '../errors.ts'
import type { FileResponse } from '../response/file-response.ts'
import type { JsonBody, ResponseFields } from '../response/json-body.ts'
import type { StreamedList } from '../response/streamed-list.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Who may call: a customer by token, a program by service token, or anybody. */
export type Auth = 'customer' | 'service' | 'none'

/** What a route takes or answers, as valibot describes it. */
export type Schema = v.GenericSchema

/** The fields of an answer. */
export type ObjectSchema = v.ObjectSchema<v.ObjectEntries, undefined>

/** A route as the router and the dispatch read it. */
export interface Route {
  readonly method: Method
  /** The whole path, `/api` included. */
  readonly path: string
  readonly hasParams: boolean
  readonly auth: Auth
  readonly abilities: readonly string[]
  /** Whether an invalid token is refused only when no instance accepts it any more. */
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
  /** What its handler refuses beside what every route of its kind does. */
  readonly throws: readonly FailureReason[]
  readonly handle: (
    context: never,
  ) => MaybePromise<ResponseFields | JsonBody | FileResponse | StreamedList | undefined>
}

/** A mistake in a declaration, as one sentence; it stops the start. */
export class RouteRefused extends Error {
  override readonly name = 'RouteRefused'
  /** The message is written for operators and is shown as it is. */
  readonly forOperators = true
}

/** Beyond it a timer of node's rings at once. */
const MOST = 2 ** 31 - 1

interface Declaration extends Partial<Omit<Route, 'method' | 'path' | 'hasParams'>> {}

/** Checks a declaration, and completes it; throws `RouteRefused` for the first mistake in it. */
export function declareRoute(base: string, pattern: string, declaration: Declaration): Route {
  const [, method, path] = (/^(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/.exec(pattern) ?? []) as [
    string?,
    Method?,
    string?,
  ]
  if (method === undefined || path === undefined) {
    throw new RouteRefused(
      `Route "${pattern}": write a method, one blank and a path, such as "GET /orders/:id".`,
    )
  }
  const names: readonly string[] = path.match(/(?<=:)\w+/g) ?? []
  const { auth, handle } = declaration
  const [problem] = [...problemsOf(method, path, names, declaration)]
  if (problem !== undefined || auth === undefined || handle === undefined) {
    throw new RouteRefused(`Route "${pattern}": ${problem}`)
  }
  return Object.freeze({
    method,
    path: base + path,
    hasParams: names.length > 0,
    auth,
    abilities: declaration.abilities ?? [],
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

function* problemsOf(
  method: Method,
  path: string,
  names: readonly string[],
  declaration: Declaration,
): Generator<string> {
  const { auth, abilities = [], returns = null, status = 200 } = declaration
  if (!/^(\/(:[a-z][A-Za-z0-9]*|[A-Za-z0-9._~-]+))+$/.test(path)) {
    yield 'a path is parts of letters, digits and ._~-, or :parameters, with no slash at its end.'
  }
  if (new Set(names).size < names.length) yield 'a parameter stands in it twice.'
  if (auth !== 'customer' && auth !== 'service' && auth !== 'none') {
    yield 'auth must be "customer", "service" or "none".'
  }
  if (abilities.length > 0 && auth !== 'customer') yield 'abilities need auth "customer".'
  const wrong = abilities.find((ability) => !isAbility(ability))
  if (wrong !== undefined) yield `"${wrong}" is not an ability such as orders:read.`
  for (const name of ['bodyLimitBytes', 'deadlineMs'] as const) {
    const amount = declaration[name] ?? null
    if (amount === null || (Number.isInteger(amount) && amount > 0 && amount <= MOST)) continue
    yield `${name} must be a whole number from 1 to ${MOST}.`
  }
  for (const part of ['params', 'query', 'body', 'returns'] as const) {
    const schema = declaration[part] ?? null
    if (schema !== null && (schema.kind !== 'schema' || schema.async)) {
      yield `${part} must be a schema of valibot that answers at once.`
    }
  }
  if (declaration.body && method === 'GET') yield 'a GET has no body.'
  for (const part of ['params', 'query'] as const) {
    const textless = Object.entries(entriesOf(declaration[part] ?? null)).find(
      ([, schema]) => !takesText(schema),
    )
    if (textless === undefined) continue
    yield `${part}.${textless[0]} comes as text: take it with v.string(), and turn it into another type behind that.`
  }
  const unknown = fieldsOf(declaration.params ?? null).find((name) => !names.includes(name))
  if (unknown !== undefined) yield `params has ${unknown}, and the path has not.`
  if (returns !== null && returns.type !== 'object') yield 'returns must be an object of fields.'
  if (fieldsOf(returns).includes('success')) yield 'success stands in each answer by itself.'
  if (returns !== null && status === 204) yield 'an answer of status 204 has no fields to return.'
  if (![200, 201, 202, 204].includes(status)) yield 'status must be 200, 201, 202 or 204.'
  const unheard = (declaration.throws ?? []).find((reason) => !Object.hasOwn(STATUS_BY_REASON, reason))
  if (unheard !== undefined) yield `throws has "${unheard}", which is no reason of a failure.`
  if (typeof declaration.handle !== 'function') yield 'handle must be a function.'
}

function fieldsOf(schema: Schema | null): readonly string[] {
  return Object.keys(entriesOf(schema))
}

function entriesOf(schema: Schema | null): v.ObjectEntries {
  return schema?.type === 'object' || schema?.type === 'strict_object' ? (schema as ObjectSchema).entries : {}
}

/** False for what no text can be, such as a number or a list; what may be left out is looked into. */
function takesText(schema: v.ObjectEntries[string]): boolean {
  if ('wrapped' in schema) return takesText(schema.wrapped as v.ObjectEntries[string])
  return !/^(number|boolean|bigint|date|array|tuple|record|map|set|(strict_|loose_)?object)$/.test(
    schema.type,
  )
}
