import { randomUUID } from 'node:crypto'

/** Returns the client's request id if it is safe in a log line, or a new one. */
export function acceptRequestId(presented: string | string[] | undefined): string {
  return typeof presented === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(presented) ? presented : randomUUID()
}
