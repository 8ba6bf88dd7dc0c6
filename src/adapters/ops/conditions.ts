import type { AlertName } from './alerts.ts'
import type { ColumnName } from './columns.ts'

/** The state of a process at one moment. */
export interface OpsState {
  /** The results of the checks of `/readyz`. */
  readonly checks: Readonly<Record<string, string>>
  /** The samples of a column, oldest first; null where there is no value. */
  readonly column: (name: ColumnName) => readonly (number | null)[]
}

/** A condition of an alert that a process can evaluate on its own. */
export interface Condition {
  readonly holds: (state: OpsState) => boolean
  /** How long it must hold before it is shown, in milliseconds. */
  readonly forMs: number
}

const MINUTE_MS = 60_000
/** The number of samples of a minute. The alert looks back for longer; the page must turn green soon after an outage. */
const MINUTE = 12

/** The conditions by alert, with the thresholds of `deploy/prometheus-rules.yaml`. Checks of readiness are shown at once. */
export const CONDITIONS: Readonly<Partial<Record<AlertName, Condition>>> = {
  LatchkeyDatabaseUnreachable: check((checks) => checks.database === 'unreachable'),
  LatchkeyMigrationPending: check((checks) => checks.migrations === 'pending'),
  LatchkeyDatabaseReadOnly: check((checks) => checks.writable === 'failed'),
  LatchkeySchemaBroken: check(({ schema, grants, indexes, triggers }) =>
    [schema, grants, indexes, triggers].includes('failed'),
  ),
  LatchkeyNotReady: check((checks) => checks.draining === 'yes'),
  LatchkeyAuditNotWritten: {
    holds: ({ column }) => sum(column('audit_failures')) > 0,
    forMs: 0,
  },
  LatchkeyWorkersRestart: {
    // The samples cover the 15 minutes of the alert.
    holds({ column }) {
      const counts = column('worker_restarts').filter((count) => count !== null)
      return (counts.at(-1) ?? 0) - (counts[0] ?? 0) > 2
    },
    forMs: 0,
  },
  LatchkeyErrorBudgetBurnsFast: {
    holds({ column }) {
      const failed = sum(column('requests_failed'))
      return failed / (failed + sum(column('requests_succeeded')) + sum(column('requests_refused'))) > 0.0144
    },
    forMs: 0,
  },
  LatchkeyLatencyBudgetBurnsFast: above('slow_share', 0.144, 2 * MINUTE_MS),
  LatchkeyCacheSuspended: {
    holds: ({ column }) => column('lease_held').at(-1) === 0,
    forMs: 30_000,
  },
  LatchkeyLoginsUnavailable: above('logins_unavailable', 0.1, 5 * MINUTE_MS),
  LatchkeyHashingQueue: above('hashing_waiting', 0, 5 * MINUTE_MS),
  LatchkeyPoolExhausted: above('connections_pending', 0, 5 * MINUTE_MS),
  LatchkeyEventLoopDelayed: above('loop_delay_p99', 0.1, 5 * MINUTE_MS),
  LatchkeyDiskFilling: {
    holds: ({ column }) => (column('disk_free_share').at(-1) ?? 1) < 0.1,
    forMs: 0,
  },
  LatchkeyConnectionsNearLimit: above('connections_share', 0.9, 5 * MINUTE_MS),
}

function check(fails: (checks: OpsState['checks']) => boolean): Condition {
  return { holds: ({ checks }) => fails(checks), forMs: 0 }
}

function above(name: ColumnName, threshold: number, forMs: number): Condition {
  return { holds: ({ column }) => (column(name).at(-1) ?? 0) > threshold, forMs }
}

/** Adds the values of the last minute. */
function sum(values: readonly (number | null)[]): number {
  return values.slice(-MINUTE).reduce((total: number, value) => total + (value ?? 0), 0)
}
