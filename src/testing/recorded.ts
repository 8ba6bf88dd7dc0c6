import type { AuditEventName } from '../application/audit-events.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { Log, LogFields } from '../application/ports/log.ts'

/** An event as the audit log was told of it. */
export interface Recorded {
  readonly event: AuditEventName
  readonly [field: string]: unknown
}

/** A line of the log as it was told. */
export interface Logged extends LogFields {
  readonly level: 'info' | 'warn' | 'error'
  readonly event: string
}

/** An audit log that remembers what it was told, in order. */
export function recordingAuditLog(): AuditLog & { readonly recorded: Recorded[] } {
  const recorded: Recorded[] = []
  return { recorded, record: (event, fields) => void recorded.push({ event, ...fields }) }
}

/** A log that remembers what it was told, in order. */
export function recordingLog(): Log & { readonly logged: Logged[] } {
  const logged: Logged[] = []
  const at = (level: Logged['level']) => (event: string, fields?: LogFields) =>
    void logged.push({ level, event, ...fields })
  return { logged, info: at('info'), warn: at('warn'), error: at('error') }
}
