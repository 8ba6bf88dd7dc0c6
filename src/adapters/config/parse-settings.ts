import * as v from 'valibot'
import type { ConfigurationProblem } from './configuration-refused.ts'
import type { Setting } from './setting.ts'
import { SETTINGS, type SettingName, type Values } from './settings.ts'
import { exampleAssignment, type Found } from './sources.ts'

/** Returns the value of each setting, the default in place of each invalid one, and a problem for each of those. */
export function parseSettings(found: Readonly<Record<SettingName, Found>>): {
  readonly values: Values
  readonly problems: readonly ConfigurationProblem[]
} {
  const problems: ConfigurationProblem[] = []
  const values = Object.fromEntries(
    SETTINGS.map((setting) => [setting.key, parse(setting, found[setting.name])]),
  )
  return { values: values as Values, problems }

  function parse(setting: Setting, { text, from }: Found): unknown {
    if (text === null) return setting.unset
    const { success, output, issues } = v.safeParse(setting.parser, text)
    if (success) return output
    for (const { message } of issues)
      problems.push({ name: from, problem: message, example: exampleAssignment(setting, from) })
    return setting.default === null ? setting.unset : v.parse(setting.parser, setting.default)
  }
}

/** Returns the problems of valid settings that contradict each other. */
export function findContradictions(values: Values): readonly ConfigurationProblem[] {
  const problems: ConfigurationProblem[] = []
  if (values.headersTimeoutMs > values.requestTimeoutMs)
    problems.push({
      name: 'HEADERS_TIMEOUT',
      problem: 'Must be at most REQUEST_TIMEOUT.',
      example: 'HEADERS_TIMEOUT=10s REQUEST_TIMEOUT=15s',
    })
  const { host, port, metricsHost, metricsPort } = values
  if (port !== 0 && port === metricsPort && host === metricsHost)
    problems.push({
      name: 'METRICS_PORT',
      problem: 'Must differ from PORT.',
      example: 'METRICS_PORT=9464',
    })
  if (values.tokenIdleTtlMs !== null && !values.tokenLastUsed)
    problems.push({
      name: 'TOKEN_IDLE_TTL',
      problem: 'Needs TOKEN_LAST_USED=on: a token expires by its last use.',
      example: 'TOKEN_IDLE_TTL=30m TOKEN_LAST_USED=on',
    })
  if (values.databaseDirectUrl !== null && values.databaseUrl === null)
    problems.push({
      name: 'DATABASE_DIRECT_URL',
      problem: 'Is set without DATABASE_URL; set both, or DATABASE_URL alone.',
      example: 'DATABASE_URL=postgres://latchkey:password@db.example.com:5432/latchkey',
    })
  return problems
}
