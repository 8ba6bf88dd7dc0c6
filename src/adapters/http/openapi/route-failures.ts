import type { FailureReason } from '../failure-reasons.ts'
import type { Route } from '../routing/declared-route.ts'

/** Returns the reasons for which a route may refuse a request. */
export function listFailureReasons(route: Route): ReadonlySet<FailureReason> {
  const validates = [route.params, route.query, route.body].some((schema) => schema !== null)
  return new Set([
    'invalid_request',
    'request_timeout',
    'payload_too_large',
    'expectation_failed',
    'headers_too_large',
    'internal',
    'unavailable',
    ...(route.auth === 'customer' ? (['missing_token', 'invalid_token', 'too_many_requests'] as const) : []),
    ...(route.auth === 'service' ? (['invalid_service_token'] as const) : []),
    ...(route.abilities.length > 0 || route.scopes.length > 0 ? (['insufficient_scope'] as const) : []),
    ...(route.hasParams ? (['not_found'] as const) : []),
    ...(route.body === null ? [] : (['invalid_json', 'unsupported_media_type'] as const)),
    ...(validates ? (['validation_failed'] as const) : []),
    ...route.throws,
  ])
}
