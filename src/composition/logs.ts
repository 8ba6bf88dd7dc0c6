import { accessLog, type RunningAccessLog } from '../adapters/access-log/access-log.ts'
import { blockWriter, type Lines } from '../adapters/access-log/block-writer.ts'
import { openAuditLog, type RunningAuditLog } from '../adapters/pino/audit-log.ts'
import { readable } from '../adapters/pino/log.ts'
import { endsTorn } from '../adapters/pino/torn-end.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import { aggregatedAuditLog } from '../application/aggregated-audit-log.ts'
import { type Configuration, LOG_LEVELS, type LogLevel } from '../application/configuration.ts'
import { DenialBudget } from '../application/denial-budget.ts'
import type { AccessLogMode } from '../application/ports/access-log.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { Log } from '../application/ports/log.ts'

const NOT_TRUSTED =
  'A request has X-Forwarded-For, and TRUST_PROXY is 0. If a proxy is in front, all clients share the limits of its address: set TRUST_PROXY to the number of proxies.'

/**
 * Returns the custom audit log, which its creator closes. Without one, opens the file of `AUDIT_LOG`, or else writes to
 * `lines`, which is standard output by default; null drops the events. Events that go to `lines` are dropped at the log
 * level `silent`. Denials are aggregated, except in a custom audit log.
 */
export function createAuditLog(
  { auditLog, logLevel }: Configuration,
  custom?: AuditLog,
  lines?: Pick<Lines, 'write'> | null,
): RunningAuditLog {
  if (custom !== undefined) {
    return { record: (event, fields) => custom.record(event, fields), silence() {}, close() {} }
  }
  const audit = openAuditLog({ path: auditLog, elsewhere: lines })
  audit.silence(logLevel === 'silent')
  const aggregated = aggregatedAuditLog(audit, systemClock)
  return {
    record: aggregated.record,
    silence: audit.silence,
    close() {
      aggregated.close()
      audit.close()
    },
  }
}

/** Returns the budget of the lines `request.failed`. The number of the others is logged as `request.failed_left_out`. */
export function failedRequestBudget(log: Log): DenialBudget {
  return new DenialBudget(systemClock, ({ address, count }) =>
    log.warn('request.failed_left_out', { ...(address === null ? {} : { address }), count }),
  )
}

/** Returns a function that warns once about a proxy whose `X-Forwarded-For` is ignored. */
export function untrustedProxyWarning(log: Log): () => void {
  let isLogged = false
  return () => {
    if (isLogged) return
    isLogged = true
    log.warn('proxy.not_trusted', { detail: NOT_TRUSTED })
  }
}

/** Opens the access log, by default on standard output. */
export function openAccessLog(
  configuration: Configuration,
  lines = process.stdout.isTTY ? terminalLines() : standardOutput(),
): RunningAccessLog {
  const mode = accessLogMode(configuration, configuration.logLevel)
  return accessLog({ mode, lines, clock: systemClock })
}

/** Returns the mode of the access log at a log level. Its lines have the level `info`. */
export function accessLogMode({ accessLog: mode }: Configuration, level: LogLevel): AccessLogMode {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf('info') && level !== 'silent' ? mode : 'off'
}

function standardOutput(): Lines {
  const { fd } = process.stdout
  return blockWriter({ fd, clock: systemClock, endsTorn: () => endsTorn(fd) })
}

function terminalLines(): Lines {
  const terminal = readable()
  return { write: (line) => void terminal.write(line), close() {} }
}
