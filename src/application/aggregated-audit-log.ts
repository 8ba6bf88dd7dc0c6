import type { Clock } from '../lib/clock.ts'
import { type AuditEventName, isDenial } from './audit-events.ts'
import { DenialBudget } from './denial-budget.ts'
import type { AuditFields, AuditLog } from './ports/audit-log.ts'

/** An audit log that counts some denials until the end of a second. */
interface AggregatedAuditLog extends AuditLog {
  /** Records the counted denials of the last second. */
  close(): void
}

/**
 * Records at most the denials of a `DenialBudget`, and the number of the others as `denials.left_out`. All other events,
 * and those without an address, are recorded one by one.
 */
export function aggregatedAuditLog(audit: AuditLog, clock: Clock): AggregatedAuditLog {
  const budget = new DenialBudget<AuditEventName>(clock, ({ event, address, count }) =>
    audit.record('denials.left_out', {
      ...(address === null ? {} : { address }),
      deniedEvent: event,
      count,
    }),
  )
  return {
    record<Name extends AuditEventName>(event: Name, fields: AuditFields<Name>) {
      const { address } = fields
      if (isDenial(event) && address !== undefined && !budget.admits(event, address)) return
      audit.record(event, fields)
    },
    close: () => budget.close(),
  }
}
