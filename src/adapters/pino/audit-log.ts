import { type DestinationStream, pino, stdTimeFunctions } from 'pino'
import { AUDIT_EVENTS, type AuditEventName } from '../../application/audit-events.ts'
import type { AuditLog } from '../../application/ports/audit-log.ts'
import { durableLines, fileLines } from './durable-lines.ts'
import { escapeLine, readable } from './log.ts'

/** An audit log and its open file. */
export interface RunningAuditLog extends AuditLog {
  /** Drops lines while `isSilent`, unless they go to a file. */
  silence(isSilent: boolean): void
  /** Closes the file; later records throw. */
  close(): void
}

/**
 * Writes one JSON line for each event, marked by `"audit":true`. Lines are appended to the file at `path`. If that is
 * null, they go to `elsewhere`, which is standard output by default; null drops them. Throws if the file cannot be opened.
 */
export function openAuditLog({
  path,
  elsewhere,
}: {
  readonly path: string | null
  readonly elsewhere?: DestinationStream | null | undefined
}): RunningAuditLog {
  if (path === null && elsewhere === null) return { record() {}, silence() {}, close() {} }
  const file = path === null ? null : fileLines(path)
  const logger = pino(
    {
      base: { audit: true },
      timestamp: stdTimeFunctions.isoTime,
      messageKey: 'event',
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: escapeLine },
    },
    file ?? elsewhere ?? standardOutput(),
  )
  return {
    record: (event, fields) => logger.info(selectFields(event, fields), event),
    silence(isSilent) {
      if (file === null) logger.level = isSilent ? 'silent' : 'info'
    },
    close: () => file?.close(),
  }
}

/** Returns the fields that this event may contain; others are dropped. */
function selectFields(
  event: AuditEventName,
  fields: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const names = ['request_id', 'address', ...AUDIT_EVENTS[event].recordedFields, 'reason']
  return Object.fromEntries(names.flatMap((name) => (name in fields ? [[name, fields[name]]] : [])))
}

function standardOutput(): DestinationStream {
  return process.stdout.isTTY ? readable() : durableLines(process.stdout.fd)
}
