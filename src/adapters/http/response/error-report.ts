import type { ErrorFields } from '../../../application/ports/log.ts'
import { LatchkeyError } from '../../../domain/errors.ts'

const MAX_CAUSES = 5
const MAX_CHARACTERS = 4000

/**
 * Describes an error for the log: class, code and stack frames; with `messages` also what it says, and its causes. The
 * service's own sentences are always included, because they repeat no input. Other properties are never read: `detail`
 * and `where` of a database's error hold values of rows. Never throws, whatever was thrown.
 */
export function describeError(error: unknown, { messages }: { readonly messages: boolean }): ErrorFields {
  try {
    const causes = messages ? causesOf(error).map((cause) => describeAlone(cause, true)) : []
    return { ...describeAlone(error, messages), ...(causes.length === 0 ? {} : { causes }) }
  } catch {
    return { error: 'Unreadable' }
  }
}

function describeAlone(error: unknown, messages: boolean): ErrorFields {
  if (!(error instanceof Error)) {
    const fields = { error: `Thrown ${typeof error}` }
    return messages && typeof error === 'string' ? { ...fields, message: shortened(error) } : fields
  }
  const { code, stack } = error as { code?: unknown; stack?: unknown }
  const message = String(error.message)
  const isShown = message !== '' && (messages || isOwnSentence(error))
  return {
    error: String(error.name),
    ...(typeof code === 'string' ? { code } : {}),
    ...(isShown ? { message: shortened(withoutValues(message, code)) } : {}),
    ...(typeof stack === 'string' ? { stack: framesOf(stack, message) } : {}),
  }
}

/** The chain of causes; an attempt to connect to several addresses failed for several. */
function causesOf(error: unknown): readonly unknown[] {
  const causes = new Set<unknown>()
  for (let next = error; next instanceof Error && causes.size < MAX_CAUSES; ) {
    if (next instanceof AggregateError) for (const one of next.errors.slice(0, MAX_CAUSES)) causes.add(one)
    const { cause } = next
    if (cause === undefined || cause === error || causes.has(cause)) break
    causes.add(cause)
    next = cause
  }
  return [...causes]
}

function isOwnSentence(error: Error): boolean {
  return error instanceof LatchkeyError || ('forOperators' in error && error.forOperators === true)
}

/** PostgreSQL's data exceptions (SQLSTATE class 22) quote the value, in the language of the server. */
function withoutValues(message: string, code: unknown): string {
  const quotes = typeof code === 'string' && /^22[0-9A-Z]{3}$/.test(code)
  return quotes ? 'The database rejected a value.' : message
}

/** The frames alone: the stack begins with the message, which may look like frames. */
function framesOf(stack: string, message: string): string {
  const at = stack.indexOf(message)
  const frames = at === -1 ? stack : stack.slice(at + message.length)
  return frames
    .split('\n')
    .filter((line) => line.startsWith('    at '))
    .join('\n')
}

function shortened(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}…`
}
