export { openAuditLog, type RunningAuditLog } from '../../adapters/pino/audit-log.ts'
export { pinoLog } from '../../adapters/pino/log.ts'
export type { LogLevel } from '../../application/configuration.ts'
