import { readProcessConfiguration } from '../adapters/config/process-configuration.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { Log } from '../application/ports/log.ts'
import type { AdapterOverrides } from '../composition/adapters.ts'
import type { ReloadableSettings } from '../composition/service.ts'

/**
 * Reloads the settings of this process and applies those that can change at runtime. When the log confirms the reload, every
 * process of the service has applied them. When a setting is invalid, nothing changes, and one log line names the problem.
 * Never throws.
 */
export async function reloadConfiguration(
  audit: AuditLog,
  log: Log,
  apply: (settings: ReloadableSettings) => Promise<void>,
  { serviceSecrets: custom }: AdapterOverrides = {},
): Promise<void> {
  const settings = readReloadableSettings(log)
  if (settings === null) return
  const { serviceTokens, logLevel } = settings
  await apply(settings)
  const names = serviceTokens.map(({ name }) => name)
  try {
    // A custom adapter accepts other service tokens than those of the settings.
    if (custom === undefined) audit.record('service.tokens_set', { serviceTokens: names })
    const tokens = custom === undefined ? `, service tokens: ${names.join(', ') || 'none'}` : ''
    log.info('settings.reloaded', { detail: `LOG_LEVEL ${logLevel}${tokens}.` })
  } catch {
    log.error('settings.reloaded', {
      detail: 'The settings are applied, but the audit log cannot be written.',
    })
  }
}

function readReloadableSettings(log: Log): ReloadableSettings | null {
  try {
    const { serviceTokens, logLevel } = readProcessConfiguration().configuration
    return { serviceTokens, logLevel }
  } catch (error) {
    log.error('settings.refused', { detail: (error as Error).message.replaceAll('\n', ' ') })
    return null
  }
}
