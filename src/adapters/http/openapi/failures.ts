import type { LatchkeyError } from '../../../domain/errors.ts'
import { STATUS_BY_REASON } from '../failure-reasons.ts'
import { failureStatus, toFailureResponse } from '../response/failure-response.ts'
import type { Route } from '../routing/declared-route.ts'
import { SERVICE_FAILURE_SAMPLES } from './failure-samples.ts'
import { listFailures } from './route-failures.ts'

const REASONS = Object.keys(STATUS_BY_REASON)

/** Returns the failures of a route as responses by status, each with a name under which routes share it. */
export function describeFailures(route: Route): readonly (readonly [status: number, name: string, object])[] {
  const samples = [...listFailures(route)].sort((a, b) => position(a) - position(b))
  const statuses = [...new Set(samples.map(failureStatus))].sort((a, b) => a - b)
  return statuses.map((status) => {
    const matching = samples.filter((sample) => failureStatus(sample) === status)
    const reasons = [...new Set(matching.map(({ reason }) => reason))]
    // Routes of different media types cannot share their responses of status 415.
    const accepts = status === 415 && route.accepts !== null ? route.accepts : []
    // Nor can service routes share those whose samples differ there.
    const differs = route.auth === 'service' && reasons.some((reason) => reason in SERVICE_FAILURE_SAMPLES)
    const parts = [...reasons, ...accepts, ...(differs ? ['service'] : [])]
    const name = parts.join('.').replaceAll(/[^\w.-]/g, '-')
    return [status, name, describeResponse(status, reasons, matching)]
  })
}

function position({ reason }: LatchkeyError): number {
  const found = REASONS.indexOf(reason)
  return found === -1 ? REASONS.length : found
}

function describeResponse(
  status: number,
  reasons: readonly string[],
  samples: readonly LatchkeyError[],
): object {
  const headers = new Map<string, string[]>([['X-Request-Id', ['a-request']]])
  for (const sample of samples) {
    const list = toFailureResponse(sample, 'a-request').headers
    for (let i = 0; i < list.length; i += 2) {
      const name = list[i] as string
      headers.set(name, [...(headers.get(name) ?? []), list[i + 1] as string])
    }
  }
  const firstOf = (reason: string) => samples.find((sample) => sample.reason === reason) as LatchkeyError
  return {
    description: reasons.map((reason) => `\`${reason}\`: ${firstOf(reason).message}`).join('\n\n'),
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
          reasons.map((reason) => [
            reason,
            { value: JSON.parse(toFailureResponse(firstOf(reason), 'a-request').text) },
          ]),
        ),
      },
    },
  }
}
