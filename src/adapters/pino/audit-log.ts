import { statSync } from 'node:fs'
import { type DestinationStream, pino, stdTimeFunctions } from 'pino'
import { AUDIT_EVENTS, type AuditEventName, isDenial } from '../../application/audit-events.ts'
import type { AuditLog } from '../../application/ports/audit-log.ts'
import { Unavailable } from '../../domain/errors.ts'
import { type DiskReserve, diskReserve } from './disk-reserve.ts'
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
 *
 * A file has a reserve beside it. When the disk is full, the reserve makes room for all events except denials; these throw
 * until there is space for the reserve again.
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
  const reserve = path === null || !statSync(path).isFile() ? null : diskReserve(path)
  return {
    record: (event, fields) =>
      writeWithReserve(reserve, event, () => logger.info(toLineFields(event, fields), event)),
    silence(isSilent) {
      if (file === null) logger.level = isSilent ? 'silent' : 'info'
    },
    close: () => file?.close(),
  }
}

function writeWithReserve(reserve: DiskReserve | null, event: AuditEventName, write: () => void): void {
  if (reserve !== null && isDenial(event)) checkReserve(reserve)
  try {
    write()
  } catch (error) {
    if (reserve === null || isDenial(event) || !reserve.release(error)) throw error
    write()
  }
}

/** Any client can cause denials, and so use up the space that a released reserve leaves. */
function checkReserve(reserve: DiskReserve): void {
  try {
    reserve.check()
  } catch (cause) {
    throw new Unavailable({ cause })
  }
}

/** The fields of every event: those of requests, and those of commands. */
const COMMON_FIELDS = ['requestId', 'address', 'osUser', 'sudoUser', 'host', 'command'] as const

/** For each event, the fields that its line may contain, each with its name in the line. */
const LINE_FIELDS: ReadonlyMap<string, readonly (readonly [field: string, lineName: string])[]> = new Map(
  Object.entries(AUDIT_EVENTS).map(([event, { recordedFields }]) => [
    event,
    [...COMMON_FIELDS, ...recordedFields, 'reason'].map((field) => [field, auditFieldName(field)]),
  ]),
)

/** Returns the fields that the line of this event may contain; others are dropped. */
function toLineFields(
  event: AuditEventName,
  fields: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const line: Record<string, unknown> = {}
  for (const [field, lineName] of LINE_FIELDS.get(event) ?? [])
    if (field in fields) line[lineName] = fields[field]
  return line
}

/** Returns the name of a field in an audit line, such as `customer_id` for `customerId`. */
export function auditFieldName(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function standardOutput(): DestinationStream {
  return process.stdout.isTTY ? readable() : durableLines(process.stdout.fd)
}
