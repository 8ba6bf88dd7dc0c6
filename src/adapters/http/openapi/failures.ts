import type { LatchkeyError } from '../../../domain/errors.ts'
import { type FailureReason, STATUS_BY_REASON } from '../failure-reasons.ts'
import { toFailureResponse } from '../response/failure-response.ts'
import type { Route } from '../routing/declared-route.ts'
import { FAILURE_SAMPLES, SERVICE_FAILURE_SAMPLES } from './failure-samples.ts'
import type { JsonSchema } from './json-schema.ts'
import { listFailureReasons } from './route-failures.ts'

const REASONS = Object.keys(STATUS_BY_REASON) as readonly FailureReason[]

/** The schema of the failure envelope, and of its additional sentences by field. */
export const FAILURE_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Failure: {
    type: 'object',
    required: ['success', 'code', 'error', 'reason', 'request_id'],
    properties: {
      success: { const: false },
      code: {
        type: 'integer',
        enum: [...new Set(Object.values(STATUS_BY_REASON))],
        description: 'The status.',
      },
      error: { type: 'string', description: 'A complete sentence that is safe to display.' },
      reason: { type: 'string', enum: REASONS, description: 'A stable identifier for clients.' },
      request_id: { type: 'string', description: 'Quote it in support requests.' },
    },
  },
  FieldErrors: {
    type: 'object',
    required: ['errors'],
    properties: {
      errors: {
        type: 'object',
        description:
          'Sentences by field: a dot path in the body, `query.x`, `params.x`, or `body` for the whole body.',
        additionalProperties: { type: 'array', items: { type: 'string' } },
      },
    },
  },
}

/** Returns the failures of a route as responses by status, each with a name under which routes share it. */
export function describeFailures(route: Route): readonly (readonly [status: number, name: string, object])[] {
  const reasons = [...listFailureReasons(route)].sort((a, b) => REASONS.indexOf(a) - REASONS.indexOf(b))
  const statuses = [...new Set(reasons.map((reason) => STATUS_BY_REASON[reason]))]
  return statuses.map((status) => {
    const matching = reasons.filter((reason) => STATUS_BY_REASON[reason] === status)
    const samples = new Map(matching.map((reason) => [reason, samplesOn(route, reason)]))
    const differ = matching.some((reason) => samples.get(reason) !== FAILURE_SAMPLES[reason])
    return [status, matching.join('.') + (differ ? '.service' : ''), describeResponse(status, samples)]
  })
}

function samplesOn({ auth }: Route, reason: FailureReason): readonly LatchkeyError[] {
  return (auth === 'service' ? SERVICE_FAILURE_SAMPLES[reason] : undefined) ?? FAILURE_SAMPLES[reason]
}

function describeResponse(
  status: number,
  samplesByReason: ReadonlyMap<FailureReason, readonly LatchkeyError[]>,
): object {
  const reasons = [...samplesByReason.keys()]
  const samples = [...samplesByReason].flatMap(([reason, list]) => list.map((sample) => ({ reason, sample })))
  const headers = new Map<string, string[]>([['X-Request-Id', ['a-request']]])
  for (const { sample } of samples) {
    const list = toFailureResponse(sample, 'a-request').headers
    for (let i = 0; i < list.length; i += 2) {
      const name = list[i] as string
      headers.set(name, [...(headers.get(name) ?? []), list[i + 1] as string])
    }
  }
  return {
    description: [...samplesByReason]
      .map(([reason, list]) => `\`${reason}\`: ${list[0]?.message}`)
      .join('\n\n'),
    headers: Object.fromEntries(
      [...headers].map(([name, examples]) => [
        name,
        { schema: { type: 'string', examples: [...new Set(examples)] } },
      ]),
    ),
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Failure' },
            ...(status === 422 ? [{ $ref: '#/components/schemas/FieldErrors' }] : []),
            { type: 'object', properties: { code: { const: status }, reason: { enum: reasons } } },
          ],
        },
        examples: Object.fromEntries(
          samples
            .reverse()
            .map(({ reason, sample }) => [
              reason,
              { value: JSON.parse(toFailureResponse(sample, 'a-request').text) },
            ]),
        ),
      },
    },
  }
}
