import * as v from 'valibot'
import { ValidationFailed } from '../../../domain/errors.ts'

/** Returns the schema's output, or throws `ValidationFailed` with a sentence for each invalid field. */
export function validated(
  schema: v.GenericSchema,
  input: unknown,
  place: 'body' | 'query' | 'params',
): unknown {
  const result = v.safeParse(schema, input, { message: sentenceFor })
  if (result.success) return result.output
  const errors = new Map<string, string[]>()
  for (const issue of result.issues) {
    const path = issue.path?.map(({ key }) => String(key)).join('.') ?? ''
    const field = place === 'body' ? path || 'body' : path === '' ? place : `${place}.${path}`
    const sentences = errors.get(field) ?? []
    if (!sentences.includes(issue.message)) errors.set(field, [...sentences, issue.message])
  }
  throw new ValidationFailed(Object.fromEntries(errors))
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'Must be a string.',
  number: 'Must be a number.',
  boolean: 'Must be true or false.',
  array: 'Must be a list.',
  object: 'Must be an object.',
  strict_object: 'Must be an object without other fields.',
  integer: 'Must be a whole number.',
  safe_integer: 'Must be a whole number.',
  email: 'Must be an e-mail address.',
  uuid: 'Must be a UUID.',
  url: 'Must be a URL.',
  iso_date: 'Must be a date such as 2030-01-31.',
  iso_timestamp: 'Must be a time such as 2030-01-31T12:00:00Z.',
  non_empty: 'Must not be empty.',
}

const LIMITS: Readonly<Record<string, (limit: string) => string>> = {
  min_length: (limit) => `Must have a length of at least ${limit}.`,
  max_length: (limit) => `Must have a length of at most ${limit}.`,
  length: (limit) => `Must have a length of ${limit}.`,
  min_value: (limit) => `Must be at least ${limit}.`,
  max_value: (limit) => `Must be at most ${limit}.`,
}

/** Builds the sentence from the schema alone: the validator's own messages repeat the input. */
function sentenceFor(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === 'schema' && issue.input === undefined) return 'Is required.'
  const limit = LIMITS[issue.type]
  if (limit !== undefined) return limit(String(issue.requirement))
  return TYPES[issue.type] ?? 'Is not valid.'
}
