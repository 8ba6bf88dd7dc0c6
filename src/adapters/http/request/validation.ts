import * as v from 'valibot'
import { type FieldDetail, ValidationFailed } from '../../../domain/errors.ts'
import { describeIssue } from './issue-details.ts'

/** The problems in one response: a small body can have thousands. */
const MAX_PROBLEMS = 100

/**
 * Returns the schema's output, or throws `ValidationFailed` with a sentence and a detail for each invalid field, at most
 * 100.
 */
export function validated(
  schema: v.GenericSchema,
  input: unknown,
  place: 'body' | 'query' | 'params',
): unknown {
  const result = v.safeParse(schema, input, { message: (issue) => describeIssue(issue).sentence })
  if (result.success) return result.output
  const errors = new Map<string, string[]>()
  const details: FieldDetail[] = []
  for (const issue of result.issues.slice(0, MAX_PROBLEMS)) {
    const field = fieldName(issue, place)
    const sentences = errors.get(field) ?? []
    if (sentences.includes(issue.message)) continue
    errors.set(field, [...sentences, issue.message])
    details.push({ field, ...describeIssue(issue).detail })
  }
  throw new ValidationFailed(Object.fromEntries(errors), details)
}

function fieldName({ path }: v.BaseIssue<unknown>, place: 'body' | 'query' | 'params'): string {
  const keys = path?.map(({ key }) => String(key)).join('.') ?? ''
  if (place === 'body') return keys || 'body'
  return keys === '' ? place : `${place}.${keys}`
}
