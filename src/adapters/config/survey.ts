import * as v from 'valibot'
import type { Configuration } from '../../application/configuration.ts'
import type { ConfigurationProblem } from './configuration-refused.ts'
import { hashingThreads, parseThreadPoolSize } from './hashing-threads.ts'
import { maskedUrl } from './masked-url.ts'
import { schema, toConfiguration, type Values } from './schema.ts'
import { SETTINGS, type Setting, type SettingName } from './settings.ts'
import {
  exampleAssignment,
  type Found,
  findSettings,
  readVariables,
  type Sources,
  settingOrigins,
} from './sources.ts'

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
  const issues = v.safeParse(schema, settingTexts(found)).issues ?? []
  const wrong = new Set(issues.map((issue) => issue.path?.[0].key as SettingName))
  const values = v.parse(schema, settingTexts(found, wrong))
  const problems = [...unread, ...findProblems(issues, found)]
  if (issues.length === 0) problems.push(...contradictions(values))
  const configuration = toConfiguration(values, {
    production: readVariables(sources)('NODE_ENV') === 'production',
    // Only from the environment: libuv does not read the `.env` file.
    threadPoolSize: parseThreadPoolSize(sources.env.UV_THREADPOOL_SIZE),
  })
  const findOrigin = settingOrigins(sources)
  const refused = new Set(problems.map(({ name }) => name))
  const settings = SETTINGS.map((setting) => {
    const { text, from } = found[setting.name]
    const value = refused.has(from) || text === null ? null : shown(setting, text)
    return { name: setting.name, value, source: findOrigin(from), variable: from }
  })
  return { settings, problems, warnings: findWarnings(configuration), configuration }
}

function settingTexts(
  found: Readonly<Record<SettingName, Found>>,
  wrong: ReadonlySet<SettingName> = new Set(),
): Record<string, string | null> {
  return Object.fromEntries(
    SETTINGS.map(({ name, default: standard }) => [name, wrong.has(name) ? standard : found[name].text]),
  )
}

function shown({ name, secret }: Setting, text: string): string {
  if (!secret) return text
  // The secret is either a database URL or pairs of names and secrets.
  return name === 'SERVICE_TOKENS' ? text.replace(/=[^,]*/g, '=***') : maskedUrl(text)
}

function findProblems(
  issues: readonly v.InferIssue<typeof schema>[],
  found: Readonly<Record<SettingName, Found>>,
): ConfigurationProblem[] {
  return SETTINGS.flatMap((setting) =>
    issues
      .filter((issue) => issue.path?.[0].key === setting.name)
      .map(({ message }) => {
        const { from } = found[setting.name]
        return { name: from, problem: message, example: exampleAssignment(setting, from) }
      }),
  )
}

function contradictions(values: Values): ConfigurationProblem[] {
  const problems: ConfigurationProblem[] = []
  if (values.HEADERS_TIMEOUT > values.REQUEST_TIMEOUT)
    problems.push({
      name: 'HEADERS_TIMEOUT',
      problem: 'Must be at most REQUEST_TIMEOUT.',
      example: 'HEADERS_TIMEOUT=10s REQUEST_TIMEOUT=15s',
    })
  if (values.DATABASE_DIRECT_URL !== null && values.DATABASE_URL === null)
    problems.push({
      name: 'DATABASE_DIRECT_URL',
      problem: 'Is set without DATABASE_URL; set both, or DATABASE_URL alone.',
      example: 'DATABASE_URL=postgres://latchkey:password@db.example.com:5432/latchkey',
    })
  return problems
}

function findWarnings(configuration: Configuration): readonly string[] {
  const { bcryptCost, hashingConcurrency, workers, ops, serviceTokens } = configuration
  const warnings: string[] = []
  if (ops && serviceTokens.length === 0)
    warnings.push('OPS is on and SERVICE_TOKENS is unset: no client can open /ops.')
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
  return warnings
}
