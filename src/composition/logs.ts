import { type AccessLogMode, accessLog, type RunningAccessLog } from '../adapters/access-log/access-log.ts'
import { blockWriter, type Lines } from '../adapters/access-log/block-writer.ts'
import { openAuditLog, type RunningAuditLog } from '../adapters/pino/audit-log.ts'
import { readable } from '../adapters/pino/log.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import { type Configuration, LOG_LEVELS, type LogLevel } from '../application/configuration.ts'

/** The audit log of a service: in the file of `AUDIT_LOG`, else among its other lines, unless it is to be silent. */
export function createAuditLog(
  { auditLog, logLevel }: Configuration,
  lines?: Pick<Lines, 'write'>,
): RunningAuditLog {
  const audit = openAuditLog({ path: auditLog, elsewhere: lines })
  audit.silence(logLevel === 'silent')
  return audit
}

/** The access log of a service: on standard output where `lines` is not given. */
export function openAccessLog(
  configuration: Configuration,
  lines = process.stdout.isTTY ? terminalLines() : blockWriter({ fd: process.stdout.fd, clock: systemClock }),
): RunningAccessLog {
  const mode = accessLogMode(configuration, configuration.logLevel)
  return accessLog({ mode, lines, clock: systemClock })
}

/** What the access log has at a level of the log: its lines are of the level `info`. */
export function accessLogMode({ accessLog: mode }: Configuration, level: LogLevel): AccessLogMode {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf('info') && level !== 'silent' ? mode : 'off'
}

function terminalLines(): Lines {
  const terminal = readable()
  return { write: (line) => void terminal.write(line), close() {} }
}
