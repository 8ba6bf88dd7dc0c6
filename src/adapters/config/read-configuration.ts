import type { Configuration } from '../../application/configuration.ts'
import { ConfigurationRefused } from './configuration-refused.ts'
import type { Sources } from './sources.ts'
import { surveyConfiguration } from './survey.ts'

/**
 * Returns the configuration of the sources, and warnings as whole sentences. Throws `ConfigurationRefused` with every
 * problem, and no other error.
 */
export function readConfiguration(sources: Sources): {
  readonly configuration: Configuration
  readonly warnings: readonly string[]
} {
  const { configuration, problems, warnings } = surveyConfiguration(sources)
  if (problems.length > 0) throw new ConfigurationRefused(problems)
  return { configuration, warnings: warnings.map(({ sentence }) => sentence) }
}
