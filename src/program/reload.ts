import { readProcessConfiguration } from '../adapters/config/process-configuration.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { Log } from '../application/ports/log.ts'
import type { ReloadableSettings } from '../composition/service.ts'

/**
 * Reads the settings of this process anew and applies those that can change while it serves. What is acknowledged in
 * the log is obeyed by every process of the service. Where anything is wrong, everything stays as it was, and one line
 * tells what. Never throws.
 */
export async function reloadConfiguration(
  audit: AuditLog,
  log: Log,
  apply: (settings: ReloadableSettings) => Promise<void>,
): Promise<void> {
  const settings = reloadable(log)
  if (settings === null) return
  const { serviceTokens, logLevel } = settings
  await apply(settings)
  const names = serviceTokens.map(({ name }) => name)
  try {
    audit.record('service.tokens_set', { service_tokens: names })
    log.info('settings.reloaded', {
      detail: `LOG_LEVEL ${logLevel}, service tokens: ${names.join(', ') || 'none'}.`,
    })
  } catch {
    log.error('settings.reloaded', { detail: 'They are obeyed, but the audit log cannot be written.' })
  }
}

function reloadable(log: Log): ReloadableSettings | null {
  try {
    const { serviceTokens, logLevel } = readProcessConfiguration().configuration
    return { serviceTokens, logLevel }
  } catch (error) {
    log.error('settings.refused', { detail: (error as Error).message.replaceAll('\n', ' ') })
    return null
  }
}
