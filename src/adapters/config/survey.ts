import type { Configuration } from '../../application/configuration.ts'
import type { ConfigurationProblem } from './configuration-refused.ts'
import { parseDotEnv } from './dot-env.ts'
import { parseThreadPoolSize } from './hashing-threads.ts'
import { maskedUrl } from './masked-url.ts'
import { findMisspeltNames } from './misspelt-names.ts'
import { findContradictions, parseSettings } from './parse-settings.ts'
import type { Setting } from './setting.ts'
import { SETTINGS, type SettingName } from './settings.ts'
import { findSettings, readVariables, type Sources, settingOrigins } from './sources.ts'
import { type ConfigurationWarning, findWarnings } from './warnings.ts'

/** A setting as reports show it. */
export interface SettingReport {
  readonly name: SettingName
  /** The value in effect, masked if secret; null when unset or invalid. */
  readonly value: string | null
  /** The source of the value. */
  readonly source: 'environment' | '.env' | 'default'
  /** The variable that was read, with `_FILE` if that was set. */
  readonly variable: string
}

/** The result of reading all settings, valid or not. */
export interface Survey {
  readonly settings: readonly SettingReport[]
  readonly problems: readonly ConfigurationProblem[]
  readonly warnings: readonly ConfigurationWarning[]
  /** Has the default in place of each invalid value. */
  readonly configuration: Configuration
}

/** Reads all settings. Throws nothing: invalid settings are reported in `problems`. */
export function surveyConfiguration(sources: Sources): Survey {
  const { found, problems: unread } = findSettings(sources)
  const { values, problems: invalid } = parseSettings(found)
  const problems = [...unread, ...invalid, ...(invalid.length === 0 ? findContradictions(values) : [])]
  const configuration: Configuration = {
    ...values,
    databaseDirectUrl: values.databaseDirectUrl ?? values.databaseUrl,
    production: readVariables(sources)('NODE_ENV') === 'production',
    // Only from the environment: libuv does not read the `.env` file.
    threadPoolSize: parseThreadPoolSize(sources.env.UV_THREADPOOL_SIZE),
  }
  const misspelt = findMisspeltNames(parseDotEnv(sources.dotEnv ?? '').variables.keys())
  const findOrigin = settingOrigins(sources)
  const refused = new Set(problems.map(({ name }) => name))
  const settings = SETTINGS.map((setting) => {
    const { text, from } = found[setting.name]
    const value = refused.has(from) || text === null ? null : formatValue(setting, text)
    return { name: setting.name, value, source: findOrigin(from), variable: from }
  })
  return { settings, problems, warnings: [...misspelt, ...findWarnings(configuration)], configuration }
}

function formatValue({ name, secret }: Setting, text: string): string {
  if (!secret) return text
  // The secret is either a database URL or pairs of names and secrets.
  return name === 'SERVICE_TOKENS' ? text.replace(/=[^,]*/g, '=***') : maskedUrl(text)
}
