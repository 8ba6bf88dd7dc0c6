import type { Configuration } from '../../application/configuration.ts'
import type { ConfigurationProblem } from './configuration-refused.ts'
import { maxConnectionsByDescriptors } from './connection-limit.ts'
import { parseDotEnv } from './dot-env.ts'
import { hashingThreads, parseThreadPoolSize } from './hashing-threads.ts'
import { maskedUrl } from './masked-url.ts'
import { findMisspeltNames } from './misspelt-names.ts'
import { findContradictions, parseSettings } from './parse-settings.ts'
import type { Setting } from './setting.ts'
import { SETTINGS, type SettingName } from './settings.ts'
import { findSettings, readVariables, type Sources, settingOrigins } from './sources.ts'

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
  /** Whole sentences. */
  readonly warnings: readonly string[]
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

function findWarnings(configuration: Configuration): readonly string[] {
  const { bcryptCost, hashingConcurrency, maxConnections, workers, ops, serviceTokens } = configuration
  const warnings: string[] = []
  if (ops && serviceTokens.length === 0)
    warnings.push('OPS is on and SERVICE_TOKENS is unset: no client can open /ops.')
  else if (ops && !serviceTokens.some(({ scopes }) => scopes.includes('ops')))
    warnings.push('OPS is on and no service token has the scope ops: write it, such as oncall[ops]=….')
  if (bcryptCost < 10)
    warnings.push(
      'BCRYPT_COST is below 10: stolen password hashes would be quick to guess. Use it for tests only.',
    )
  const threads = hashingThreads(configuration)
  // With several workers, each one's thread pool is sized to fit.
  if (workers === 1 && hashingConcurrency !== null && hashingConcurrency > threads)
    warnings.push(
      `HASHING_CONCURRENCY is more than the thread pool can spare: ${threads} at once. Set UV_THREADPOOL_SIZE=${hashingConcurrency + 1} in the environment, not in .env.`,
    )
  const byDescriptors = maxConnectionsByDescriptors(configuration)
  if (maxConnections !== null && byDescriptors !== null && maxConnections > byDescriptors)
    warnings.push(
      `MAX_CONNECTIONS is more than the limit of open files can spare: ${byDescriptors}. Raise that limit (LimitNOFILE, ulimit -n), or clients cannot connect.`,
    )
  if (isBehindProxy(configuration))
    warnings.push(
      'PUBLIC_URL is not what this process listens on, so a proxy seems to be in front, and TRUST_PROXY is 0: all clients share the limits of one address. Set TRUST_PROXY to the number of proxies.',
    )
  return warnings
}

/** Whether `PUBLIC_URL` shows that a proxy is in front: TLS, or another port. The proxy's entries are not trusted. */
function isBehindProxy({ publicUrl, port, trustedProxies }: Configuration): boolean {
  if (publicUrl === null || trustedProxies > 0) return false
  const { protocol, port: publicPort } = new URL(publicUrl)
  return protocol === 'https:' || (port !== 0 && (publicPort || '80') !== String(port))
}
