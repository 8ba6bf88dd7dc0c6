import * as v from 'valibot'
import type { Configuration } from './configuration.ts'
import { type ConfigurationProblem, ConfigurationRefused } from './configuration-refused.ts'
import { configurationOf, schema, type Values } from './schema.ts'
import { SETTINGS, type SettingName } from './settings.ts'
import { exampleOf, type Found, findSettings, type Sources, variablesOf } from './sources.ts'

/**
 * The configuration that the sources ask for, with warnings as whole sentences. Throws `ConfigurationRefused` with
 * everything that is wrong, and no other error.
 */
export function readConfiguration(sources: Sources): {
  readonly configuration: Configuration
  readonly warnings: readonly string[]
} {
  const { found, problems } = findSettings(sources)
  const result = v.safeParse(schema, textsOf(found))
  const all = [...problems, ...issuesOf(result.issues ?? [], found)]
  if (result.success) all.push(...contradictions(result.output))
  if (!result.success || all.length > 0) throw new ConfigurationRefused(all)
  return {
    configuration: configurationOf(result.output, variablesOf(sources)('NODE_ENV') === 'production'),
    warnings: warningsOf(result.output),
  }
}

function textsOf(found: Readonly<Record<SettingName, Found>>): Record<string, string | null> {
  return Object.fromEntries(Object.entries(found).map(([name, { text }]) => [name, text]))
}

function issuesOf(
  issues: readonly v.InferIssue<typeof schema>[],
  found: Readonly<Record<SettingName, Found>>,
): ConfigurationProblem[] {
  return SETTINGS.flatMap((setting) =>
    issues
      .filter((issue) => issue.path?.[0].key === setting.name)
      .map(({ message }) => {
        const { from } = found[setting.name]
        return { name: from, problem: message, example: exampleOf(setting, from) }
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

function warningsOf(values: Values): readonly string[] {
  return values.BCRYPT_COST < 10
    ? ['BCRYPT_COST is below 10: stolen password hashes would be quick to guess. Use it for tests only.']
    : []
}
