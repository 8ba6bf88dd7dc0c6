import type { AuditEventName } from '../application/audit-events.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { Log, LogFields } from '../application/ports/log.ts'

/** An event as the audit log received it. */
export interface Recorded {
  readonly event: AuditEventName
  readonly [field: string]: unknown
}

/** A line as the log received it. */
export interface Logged extends LogFields {
  /** The fields of custom routes, too. */
  readonly [field: string]: unknown
  readonly level: 'info' | 'warn' | 'error'
  readonly event: string
}

/** Creates an audit log that stores its events in order. */
export function recordingAuditLog(): AuditLog & { readonly recorded: Recorded[] } {
  const recorded: Recorded[] = []
  return { recorded, record: (event, fields) => void recorded.push({ event, ...fields }) }
}

/** Creates a log that stores its lines in order. */
export function recordingLog(): Log & { readonly logged: Logged[] } {
  const logged: Logged[] = []
  const at = (level: Logged['level']) => (event: string, fields?: LogFields) =>
    void logged.push({ level, event, ...fields })
  return { logged, info: at('info'), warn: at('warn'), error: at('error') }
}
