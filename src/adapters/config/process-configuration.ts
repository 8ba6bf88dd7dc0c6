import { lstatSync, statSync } from 'node:fs'
import { type ConfigurationProblem, ConfigurationRefused } from './configuration-refused.ts'
import { decodeDotEnv } from './dot-env.ts'
import { readConfiguration } from './read-configuration.ts'
import { SETTINGS } from './settings.ts'
import { readSmallFile } from './small-file.ts'
import { readVariables } from './sources.ts'
import { type Survey, surveyConfiguration } from './survey.ts'
import type { ConfigurationWarning } from './warnings.ts'

/**
 * Reads the configuration of this process from its environment and the `.env` file of the working directory. Throws
 * `ConfigurationRefused`.
 */
export function readProcessConfiguration(): ReturnType<typeof readConfiguration> {
  const { configuration, warnings } = readConfiguration({ env: process.env, dotEnv: dotEnvText() })
  return { configuration, warnings: [...warnOfForeignDotEnv().map(({ sentence }) => sentence), ...warnings] }
}

/** A survey, and the files that contain its secrets. */
export interface ProcessSurvey extends Survey {
  /** `name` is the variable that names the file, or `.env`. */
  readonly files: readonly { readonly name: string; readonly path: string }[]
}

/** Reads all settings of this process. Invalid ones are reported in `problems`. */
export function surveyProcess(): ProcessSurvey {
  const unread: ConfigurationProblem[] = []
  let dotEnv: string | null = null
  try {
    dotEnv = dotEnvText()
  } catch (error) {
    if (!(error instanceof ConfigurationRefused)) throw error
    unread.push(...error.problems)
  }
  const sources = { env: process.env, dotEnv }
  const survey = surveyConfiguration(sources)
  const problems = [...unread, ...survey.problems]
  const warnings = [...warnOfForeignDotEnv(), ...survey.warnings]
  return { ...survey, problems, warnings, files: findSecretFiles(survey, readVariables(sources)) }
}

function findSecretFiles(
  { settings, problems }: Survey,
  variable: (name: string) => string | undefined,
): ProcessSurvey['files'] {
  const refused = problems.map(({ name }) => name)
  const named = settings.flatMap(({ name, variable: from }) => {
    const path = from === name || refused.includes(from) ? undefined : variable(from)
    return path === undefined ? [] : [{ name: from, path }]
  })
  const secrets: readonly string[] = SETTINGS.filter(({ secret }) => secret).map(({ name }) => name)
  const hasSecret = settings.some(({ source, variable: from }) => source === '.env' && secrets.includes(from))
  return hasSecret ? [...named, { name: '.env', path: '.env' }] : named
}

/** Returns a warning if another account than root owns the `.env` file: it decides on the settings of this process. */
function warnOfForeignDotEnv(): readonly ConfigurationWarning[] {
  const owner = statSync('.env', { throwIfNoEntry: false })?.uid
  if (owner === undefined || owner === 0 || owner === process.geteuid?.()) return []
  const sentence = `The file .env in the working directory belongs to another account (${owner}) and is read.`
  return [{ name: '.env', sentence }]
}

function dotEnvText(): string | null {
  const bytes = dotEnvBytes()
  if (bytes === null) return null
  const text = decodeDotEnv(bytes)
  if (typeof text !== 'string') throw new ConfigurationRefused([text])
  return text
}

function dotEnvBytes(): Uint8Array | null {
  try {
    return readSmallFile('.env')
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    // A symbolic link without a target is a file that cannot be read.
    if (isMissing && lstatSync('.env', { throwIfNoEntry: false }) === undefined) return null
    const problem = 'Is in the working directory and cannot be read.'
    throw new ConfigurationRefused([
      { name: '.env', problem, example: 'a text file of at most 1 MiB, or none' },
    ])
  }
}

/**
 * Removes a variable of the shell with which the PostgreSQL driver would load a package that is not installed: the service
 * uses the driver in JavaScript. Call it before the driver is loaded.
 */
export function ignoreNativeDriver(): void {
  Reflect.deleteProperty(process.env, 'NODE_PG_FORCE_NATIVE')
}
