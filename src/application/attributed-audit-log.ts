import type { AuditLog, CommandActor } from './ports/audit-log.ts'

/** Records each event with who caused it. */
export function attributedAuditLog(audit: AuditLog, actor: CommandActor): AuditLog {
  return { record: (event, fields) => audit.record(event, { ...actor, ...fields }) }
}
