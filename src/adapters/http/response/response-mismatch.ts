import * as v from 'valibot'
import { OperatorError } from '../../../lib/operator-error.ts'

const MAX_FIELDS = 10
const MAX_CHARACTERS = 100

/** A handler's response does not fit its route. The message has the fields, never their values. */
class ResponseMismatch extends OperatorError {
  override readonly name = 'ResponseMismatch'
}

/** Returns the error of a status that `responses` of the route does not have. */
export function undeclaredStatus(status: number): OperatorError {
  return new ResponseMismatch(
    `The response has the status ${status}, which the route does not declare in responses.`,
  )
}

function describeIssues(issues: readonly v.BaseIssue<unknown>[]): string {
  const fields = issues.slice(0, MAX_FIELDS).map(describeIssue)
  const rest = issues.length > MAX_FIELDS ? `; and ${issues.length - MAX_FIELDS} more` : ''
  return `The response does not fit the route's returns: ${fields.join('; ')}${rest}`
}

/** Returns the schema's output of the response, or throws `ResponseMismatch`. */
export function conforming<Schema extends v.GenericSchema>(
  schema: Schema,
  response: unknown,
): v.InferOutput<Schema> {
  const { success, output, issues } = v.safeParse(schema, response)
  if (!success) throw new ResponseMismatch(describeIssues(issues))
  return output
}

// The validator's own messages repeat the value.
function describeIssue({ path, type, expected, input }: v.BaseIssue<unknown>): string {
  const place = path?.map(({ key }) => shownKey(key)).join('.') ?? 'the whole'
  const received = input === undefined ? ', is missing' : ''
  return `${place}: expected ${(expected ?? type).slice(0, MAX_CHARACTERS)}${received}`
}

/** The key of a record may be a value, such as an e-mail. */
function shownKey(key: unknown): string {
  return typeof key === 'number' || (typeof key === 'string' && /^\w{1,64}$/.test(key)) ? String(key) : '*'
}
