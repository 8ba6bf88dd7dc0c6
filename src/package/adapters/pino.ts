export { openAuditLog, type RunningAuditLog } from '../../adapters/pino/audit-log.ts'
export { type LogLevel, pinoLog } from '../../adapters/pino/log.ts'
