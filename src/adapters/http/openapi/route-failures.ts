import type { LatchkeyError } from '../../../domain/errors.ts'
import { createSample } from '../api-error.ts'
import { UnsupportedMediaType } from '../errors.ts'
import type { FailureReason } from '../failure-reasons.ts'
import type { Route } from '../routing/declared-route.ts'
import { FAILURE_SAMPLES, SERVICE_FAILURE_SAMPLES } from './failure-samples.ts'

/** Returns the failures with which a route may refuse a request, one sample of each form. */
export function listFailures(route: Route): readonly LatchkeyError[] {
  return [
    ...[...listFailureReasons(route)].flatMap((reason) =>
      reason === 'unsupported_media_type' ? mediaTypeSamples(route) : samplesOn(route, reason),
    ),
    ...declaredErrors(route),
  ]
}

/** Returns a sample of each class in `throws`. */
export function declaredErrors({ throws }: Route): readonly LatchkeyError[] {
  return throws
    .map((thrown) => (typeof thrown === 'string' ? null : createSample(thrown)))
    .filter((sample) => sample !== null)
}

/** Returns the reasons for which a route may refuse a request, beside those of its own classes. */
function listFailureReasons(route: Route): ReadonlySet<FailureReason> {
  const { body } = route
  const isJson = body !== null && typeof body === 'object'
  const validates = isJson || route.params !== null || route.query !== null
  return new Set([
    'invalid_request',
    'request_timeout',
    'payload_too_large',
    'expectation_failed',
    'headers_too_large',
    'internal',
    'unavailable',
    ...(route.auth === 'customer' ? (['missing_token', 'invalid_token', 'too_many_requests'] as const) : []),
    ...(route.freshMs === null ? [] : (['reauthentication_required', 'login_token_required'] as const)),
    ...(route.auth === 'service' ? (['invalid_service_token'] as const) : []),
    ...(route.abilities.length > 0 || route.scopes.length > 0 ? (['insufficient_scope'] as const) : []),
    ...(route.hasParams ? (['not_found'] as const) : []),
    ...(isJson ? (['invalid_json'] as const) : []),
    ...(body === null ? [] : (['unsupported_media_type'] as const)),
    ...(validates ? (['validation_failed'] as const) : []),
    ...route.throws.filter((thrown) => typeof thrown === 'string'),
  ])
}

function samplesOn({ auth }: Route, reason: FailureReason): readonly LatchkeyError[] {
  return (auth === 'service' ? SERVICE_FAILURE_SAMPLES[reason] : undefined) ?? FAILURE_SAMPLES[reason]
}

function mediaTypeSamples({ body, accepts }: Route): readonly LatchkeyError[] {
  if (body !== 'bytes' && body !== 'stream') return FAILURE_SAMPLES.unsupported_media_type
  return [...(accepts === null ? [] : [new UnsupportedMediaType(accepts)]), new UnsupportedMediaType(null)]
}
