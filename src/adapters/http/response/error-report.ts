import type { ErrorFields } from '../../../application/ports/log.ts'
import { LatchkeyError } from '../../../domain/errors.ts'
import { isForOperators } from '../../../lib/operator-error.ts'

const MAX_CAUSES = 5
const MAX_CHARACTERS = 4000

/**
 * Describes an error for the log: class, code and stack frames; with `messages`, also its message and its causes. The
 * service's own messages are always included, because they repeat no input. Other properties are never read: `detail`
 * and `where` of a database error hold row values. Never throws, for any value.
 */
export function describeError(error: unknown, { messages }: { readonly messages: boolean }): ErrorFields {
  try {
    const causes = messages ? collectCauses(error).map((cause) => describeAlone(cause, true)) : []
    return { ...describeAlone(error, messages), ...(causes.length === 0 ? {} : { causes }) }
  } catch {
    return { error: 'Unreadable' }
  }
}

function describeAlone(error: unknown, messages: boolean): ErrorFields {
  if (!(error instanceof Error)) {
    const fields = { error: `Thrown ${typeof error}` }
    return messages && typeof error === 'string' ? { ...fields, message: truncate(error) } : fields
  }
  const { code, stack } = error as { code?: unknown; stack?: unknown }
  const message = String(error.message)
  const isShown = message !== '' && (messages || isOwnMessage(error))
  return {
    error: String(error.name),
    ...(typeof code === 'string' ? { code } : {}),
    ...(isShown ? { message: truncate(redactValues(message, code)) } : {}),
    ...(typeof stack === 'string' ? { stack: extractFrames(stack, message) } : {}),
  }
}

/** Returns the chain of causes. A failed connection to several addresses has a cause for each. */
function collectCauses(error: unknown): readonly unknown[] {
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

function isOwnMessage(error: Error): boolean {
  return error instanceof LatchkeyError || isForOperators(error)
}

/** Messages of PostgreSQL's data exceptions (SQLSTATE class 22) quote the value, in the server's language. */
function redactValues(message: string, code: unknown): string {
  const quotes = typeof code === 'string' && /^22[0-9A-Z]{3}$/.test(code)
  return quotes ? 'The database rejected a value.' : message
}

/** Returns the stack frames without the message before them, whose lines may look like frames. */
function extractFrames(stack: string, message: string): string {
  const at = stack.indexOf(message)
  const frames = at === -1 ? stack : stack.slice(at + message.length)
  return frames
    .split('\n')
    .filter((line) => line.startsWith('    at '))
    .join('\n')
}

function truncate(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}…`
}
