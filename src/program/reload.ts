import { ConfigurationRefused } from '../adapters/config/configuration-refused.ts'
import { readProcessConfiguration, surveyProcess } from '../adapters/config/process-configuration.ts'
import { waitForStableFiles } from '../adapters/config/stable-files.ts'
import type { ReloadableSettings } from '../application/configuration.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { Log } from '../application/ports/log.ts'
import type { AdapterOverrides } from '../composition/adapters.ts'

const BEING_WRITTEN = {
  problem: 'The file is being written.',
  example: 'send SIGHUP again when the file is complete, or replace the file by renaming.',
}

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
  const settings = await readReloadableSettings(log)
  if (settings === null) return
  const { serviceTokens, logLevel } = settings
  try {
    await apply(settings)
  } catch (error) {
    return refuse(error, log)
  }
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

async function readReloadableSettings(log: Log): Promise<ReloadableSettings | null> {
  try {
    const changing = await waitForStableFiles([...surveyProcess().files, { name: '.env', path: '.env' }])
    if (changing.length > 0)
      throw new ConfigurationRefused(changing.map((name) => ({ name, ...BEING_WRITTEN })))
    const { configuration } = readProcessConfiguration()
    const { serviceTokens, logLevel, databaseUrl, databaseDirectUrl } = configuration
    return { serviceTokens, logLevel, databaseUrl, databaseDirectUrl }
  } catch (error) {
    refuse(error, log)
    return null
  }
}

function refuse(error: unknown, log: Log): void {
  log.error('settings.refused', { detail: (error as Error).message.replaceAll('\n', ' ') })
}
