import { STATUS_BY_REASON } from '../failure-reasons.ts'
import { failureStatus } from '../response/failure-response.ts'
import type { Route } from '../routing/declared-route.ts'
import type { JsonSchema } from './json-schema.ts'
import { declaredErrors } from './route-failures.ts'

/** Returns the schemas of the failure envelope, and of its additional sentences by field. */
export function failureSchemas(routes: readonly Route[]): Readonly<Record<string, JsonSchema>> {
  const own = routes.flatMap(declaredErrors)
  const statuses = [...Object.values(STATUS_BY_REASON), ...own.map(failureStatus)]
  const reasons = [...Object.keys(STATUS_BY_REASON), ...own.map(({ reason }) => reason)]
  return {
    Failure: {
      type: 'object',
      required: ['success', 'code', 'error', 'reason', 'request_id'],
      properties: {
        success: { const: false },
        code: {
          type: 'integer',
          enum: [...new Set(statuses)].sort((a, b) => a - b),
          description: 'The status.',
        },
        error: { type: 'string', description: 'A complete sentence that is safe to display.' },
        reason: {
          type: 'string',
          enum: [...new Set(reasons)],
          description: 'A stable identifier for clients.',
        },
        request_id: { type: 'string', description: 'Quote it in support requests.' },
      },
    },
    FieldErrors: {
      type: 'object',
      required: ['errors', 'details'],
      properties: {
        details: {
          type: 'array',
          description: 'The same problems for programs, with the limit or the allowed values.',
          items: {
            type: 'object',
            required: ['field', 'code'],
            properties: {
              field: { type: 'string' },
              code: {
                type: 'string',
                description: 'A stable identifier such as `required` or `min_length`.',
              },
            },
          },
        },
        errors: {
          type: 'object',
          description:
            'Sentences by field: a dot path in the body, `query.x`, `params.x`, or `body` for the whole body.',
          additionalProperties: { type: 'array', items: { type: 'string' } },
        },
      },
    },
  }
}
