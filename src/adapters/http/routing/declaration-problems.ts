import type * as v from 'valibot'
import { isAbility } from '../../../domain/abilities.ts'
import { isScope } from '../../../domain/service-token.ts'
import { STATUS_BY_REASON } from '../failure-reasons.ts'
import type { Declaration, Method, ObjectSchema, Schema } from './declared-route.ts'

/** Node runs a timer of a longer delay immediately. */
const MAX_AMOUNT = 2 ** 31 - 1

/** Yields a sentence for each mistake in a declaration. `names` are the parameters of the path. */
export function* findProblems(
  method: Method,
  path: string,
  names: readonly string[],
  declaration: Declaration,
): Generator<string> {
  const { auth, abilities = [], scopes = [], returns = null, status = 200 } = declaration
  if (!/^(\/(:[a-z][A-Za-z0-9]*|[A-Za-z0-9._~-]+))+$/.test(path)) {
    yield 'a path has segments of letters, digits and ._~-, or :parameters, without a trailing slash.'
  }
  if (new Set(names).size < names.length) yield 'the path has the same parameter twice.'
  if (auth !== 'customer' && auth !== 'service' && auth !== 'none') {
    yield 'auth must be "customer", "service" or "none".'
  }
  if (abilities.length > 0 && auth !== 'customer') yield 'abilities need auth "customer".'
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
  for (const part of ['params', 'query', 'body', 'returns'] as const) {
    const schema = declaration[part] ?? null
    if (schema !== null && (schema.kind !== 'schema' || schema.async)) {
      yield `${part} must be a synchronous valibot schema.`
    }
  }
  if (declaration.body && method === 'GET') yield 'a GET has no body.'
  for (const part of ['params', 'query'] as const) {
    const nonText = Object.entries(schemaEntries(declaration[part] ?? null)).find(
      ([, schema]) => !takesText(schema),
    )
    if (nonText === undefined) continue
    yield `${part}.${nonText[0]} arrives as text: declare it with v.string(), then transform it to another type.`
  }
  const unknown = fieldNames(declaration.params ?? null).find((name) => !names.includes(name))
  if (unknown !== undefined) yield `params has ${unknown}, which the path does not have.`
  if (returns !== null && returns.type !== 'object') yield 'returns must be an object schema.'
  if (fieldNames(returns).includes('success')) yield 'success is added to each response automatically.'
  if (returns !== null && status === 204) yield 'a response of status 204 has no fields to return.'
  if (![200, 201, 202, 204].includes(status)) yield 'status must be 200, 201, 202 or 204.'
  const unknownReason = (declaration.throws ?? []).find((reason) => !Object.hasOwn(STATUS_BY_REASON, reason))
  if (unknownReason !== undefined) yield `throws has "${unknownReason}", which is not a failure reason.`
  if (typeof declaration.handle !== 'function') yield 'handle must be a function.'
}

function fieldNames(schema: Schema | null): readonly string[] {
  return Object.keys(schemaEntries(schema))
}

function schemaEntries(schema: Schema | null): v.ObjectEntries {
  return schema?.type === 'object' || schema?.type === 'strict_object' ? (schema as ObjectSchema).entries : {}
}

/** Returns false for types that no text can be, such as a number or a list. Unwraps optional schemas. */
function takesText(schema: v.ObjectEntries[string]): boolean {
  if ('wrapped' in schema) return takesText(schema.wrapped as v.ObjectEntries[string])
  return !/^(number|boolean|bigint|date|array|tuple|record|map|set|(strict_|loose_)?object)$/.test(
    schema.type,
  )
}
