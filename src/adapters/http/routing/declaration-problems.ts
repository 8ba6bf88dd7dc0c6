import { isAbility } from '../../../domain/abilities.ts'
import { isScope } from '../../../domain/service-token.ts'
import { durationMs } from '../../../lib/duration.ts'
import { ApiError, apiErrorProblem, createSample, type ThrownError } from '../api-error.ts'
import { hasStatus, STATUS_BY_REASON } from '../failure-reasons.ts'
import type { Declaration, Method, Schema } from './declared-route.ts'
import { fieldNames, isBigint, objectEntries, takesText } from './schema-entries.ts'

/** Node runs a timer of a longer delay immediately. */
const MAX_AMOUNT = 2 ** 31 - 1

/** Yields a sentence for each mistake in a declaration. `path` is the whole path, `names` are its parameters. */
export function* findProblems(
  method: Method,
  path: string,
  names: readonly string[],
  declaration: Declaration,
): Generator<string> {
  const { auth, abilities = [], scopes = [], returns = null, status = 200 } = declaration
  if (!/^(\/|(\/(:[a-z][A-Za-z0-9]*|[A-Za-z0-9._~-]+))+)$/.test(path)) {
    yield 'a path has segments of letters, digits and ._~-, or :parameters, without a trailing slash.'
  }
  if (new Set(names).size < names.length) yield 'the path has the same parameter twice.'
  if (auth !== 'customer' && auth !== 'service' && auth !== 'none') {
    yield 'auth must be "customer", "service" or "none".'
  }
  if (abilities.length > 0 && auth !== 'customer') yield 'abilities need auth "customer".'
  if (declaration.fresh !== undefined && auth !== 'customer') yield 'fresh needs auth "customer".'
  if (declaration.fresh !== undefined && (durationMs(declaration.fresh) ?? 0) < 1000)
    yield 'fresh must be a duration of at least 1s, such as 15m.'
  const wrong = abilities.find((ability) => !isAbility(ability))
  if (wrong !== undefined) yield `"${wrong}" is not an ability such as orders:read.`
  if (scopes.length > 0 && auth !== 'service') yield 'scopes need auth "service".'
  const notScope = scopes.find((scope) => !isScope(scope))
  if (notScope !== undefined) yield `"${notScope}" is not a scope such as reports.`
  for (const name of ['bodyLimitBytes', 'deadlineMs'] as const) {
    const amount = declaration[name] ?? null
    if (amount === null || (Number.isInteger(amount) && amount > 0 && amount <= MAX_AMOUNT)) continue
    yield `${name} must be a whole number from 1 to ${MAX_AMOUNT}.`
  }
  yield* bodyProblems(declaration)
  for (const part of ['params', 'query', 'body', 'returns'] as const) {
    const schema = declaration[part] ?? null
    if (schema !== null && typeof schema === 'object' && (schema.kind !== 'schema' || schema.async)) {
      yield `${part} must be a synchronous valibot schema.`
    }
  }
  if (declaration.body && method === 'GET') yield 'a GET has no body.'
  for (const part of ['params', 'query'] as const) {
    const nonText = Object.entries(objectEntries(declaration[part] ?? null)).find(
      ([, schema]) => !takesText(schema as Schema, part === 'query'),
    )
    if (nonText === undefined) continue
    yield `${part}.${nonText[0]} arrives as text: declare it with v.string(), then transform it to another type.`
  }
  const unknown = fieldNames(declaration.params ?? null).find((name) => !names.includes(name))
  if (unknown !== undefined) yield `params has ${unknown}, which the path does not have.`
  if (returns !== null && returns.type !== 'object') yield 'returns must be an object schema.'
  if (fieldNames(returns).includes('success')) yield 'success is added to each response automatically.'
  const big = Object.entries(objectEntries(returns)).find(([, field]) => isBigint(field as Schema))
  if (big !== undefined)
    yield `returns.${big[0]} is a bigint, which JSON does not have: write v.pipe(v.bigint(), v.transform(String), v.string()).`
  if (returns !== null && status === 204) yield 'a response of status 204 has no fields to return.'
  if (![200, 201, 202, 204].includes(status)) yield 'status must be 200, 201, 202 or 204.'
  yield* (declaration.throws ?? []).map(thrownProblem).filter((problem) => problem !== null)
  for (const code of Object.keys(declaration.responses ?? {}))
    if (!/^[23]\d\d$/.test(code)) yield `responses has "${code}": write statuses from 200 to 399.`
  if (typeof declaration.handle !== 'function') yield 'handle must be a function.'
}

function* bodyProblems({ body, accepts, rawBody, requestTimeout }: Declaration): Generator<string> {
  const isRaw = body === 'bytes' || body === 'stream'
  if (typeof body === 'string' && !isRaw) yield 'body must be a schema, "bytes" or "stream".'
  if (accepts !== undefined && !isRaw) yield 'accepts needs body "bytes" or "stream": a schema is for JSON.'
  if (accepts?.length === 0) yield 'accepts has no media type: leave it out to accept any.'
  const wrong = (accepts ?? []).find((type) => !/^[\w.+-]+\/([\w.+-]+|\*)$/.test(type))
  if (wrong !== undefined) yield `accepts has "${wrong}": write a media type such as text/csv, or image/*.`
  if (rawBody === true && (isRaw || body === undefined)) yield 'rawBody needs a schema as body.'
  if (requestTimeout === undefined) return
  const ms = durationMs(requestTimeout)
  if (ms === null || ms < 1000 || ms > MAX_AMOUNT)
    yield 'requestTimeout must be a duration of at least 1s, such as 90s or 5m.'
}

/** Returns the mistake in an error of `throws`, or null. */
function thrownProblem(thrown: ThrownError): string | null {
  if (typeof thrown === 'string') {
    const isKnown = Object.hasOwn(STATUS_BY_REASON, thrown)
    return isKnown
      ? null
      : `throws has "${thrown}", which is not a failure reason: write the class of your error.`
  }
  const sample = createSample(thrown)
  if (sample instanceof ApiError) return apiErrorProblem(sample)
  return sample !== null && hasStatus(sample)
    ? null
    : 'throws takes reasons, and classes that extend ApiError and need no arguments.'
}
