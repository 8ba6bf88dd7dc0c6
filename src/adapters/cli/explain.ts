import { LatchkeyError, Unavailable, ValidationFailed } from '../../domain/errors.ts'
import { isForOperators } from '../../lib/operator-error.ts'
import { printable } from './printable.ts'

const HINTS: readonly (readonly [code: RegExp, hint: string])[] = [
  [/^(EADDRINUSE|EADDRNOTAVAIL|EAFNOSUPPORT)$/, 'set HOST and PORT to an address that is free here'],
  [/^(ECONN\w+|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/, 'check HOST and DATABASE_URL'],
  [/^(28P01|28000|3D000)$/, 'check user, password and name in DATABASE_URL'],
  [/^(ENOSPC|EDQUOT)$/, 'free some space, then run the command again'],
  [/CERT|VERIFY|^ERR_TLS/, 'check sslmode in DATABASE_URL; docs/reference/settings.md lists its values'],
]

/** Returns the lines that report a failure, without a stack: one line, unless the error carries several problems. */
export function explain(error: unknown): readonly string[] {
  if (error instanceof ValidationFailed)
    return [
      Object.entries(error.errors)
        .map(([field, sentences]) => `${field}: ${sentences.join(' ')}`)
        .join(' '),
    ].map(printable)
  if (error instanceof Unavailable)
    return [printable(error.cause ? `${error.message} (${detail(error.cause)})` : error.message)]
  if (error instanceof LatchkeyError) return [printable(error.message)]
  if (isForOperators(error)) return error.message.split('\n').map(printable)
  return [printable(detail(error))]
}

function detail(error: unknown): string {
  // When a name has several addresses, node reports an AggregateError without a message.
  if (error instanceof AggregateError && error.errors.length > 0) return detail(error.errors[0])
  if (!(error instanceof Error)) return `${String(error)}; ${unexpected}`
  if (/native binding/i.test(error.message))
    return "The program that hashes passwords is not installed: it is in bcrypt's optional packages. Run npm ci without --omit=optional, on this machine."
  const code = 'code' in error ? String(error.code) : ''
  const hint = HINTS.find(([pattern]) => pattern.test(code))?.[1] ?? unexpected
  return `${(error.message || error.name).replaceAll(/\s*\n\s*/g, ' ')}; ${hint}`
}

const unexpected = 'NODE_DEBUG=latchkey shows where it happened'
