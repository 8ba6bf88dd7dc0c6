import type { LoginToken } from '../../domain/login-token.ts'
import { type JsonFlag, toJsonDocument } from './json.ts'
import { sessionFields } from './json-fields.ts'
import { printable, printableTime } from './printable.ts'
import { createTable } from './table.ts'

/** Returns the sessions of a customer as a table, or as one JSON document. */
export function sessionReport(
  sessions: readonly LoginToken[],
  { json = false }: JsonFlag,
  maxWidth: number,
): string {
  if (json) return toJsonDocument({ sessions: sessions.map(sessionFields) })
  return createTable(
    ['ID', 'CREATED', 'LAST USED', 'EXPIRES', 'DEVICE'],
    maxWidth,
  )(
    sessions.map(({ id, createdAtMs, lastUsedAtMs, expiresAtMs, device }) => [
      printable(id),
      printableTime(createdAtMs),
      lastUsedAtMs === null ? 'never' : printableTime(lastUsedAtMs),
      expiresAtMs === null ? 'never' : printableTime(expiresAtMs),
      printable(device ?? '-'),
    ]),
  )
}
