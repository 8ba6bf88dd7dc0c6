import { availableParallelism } from 'node:os'
import { measureHashing } from '../adapters/bcrypt/measure-hashing.ts'
import { bcryptPasswordHasher } from '../adapters/bcrypt/password-hasher.ts'
import type { Diagnosis } from '../adapters/cli/operations.ts'
import { findExposures, findInexactVerifiers, findUnaudited } from '../adapters/config/exposures.ts'
import { hashingThreads } from '../adapters/config/hashing-threads.ts'
import { type ProcessSurvey, surveyProcess } from '../adapters/config/process-configuration.ts'
import { appendableFile, secretFile } from '../adapters/node-fs/permissions.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import type { Configuration } from '../application/configuration.ts'
import type { Database } from '../application/ports/database.ts'
import type { AdapterOverrides } from '../composition/adapters.ts'
import { postgresDatabase } from '../composition/postgres-database.ts'
import { type CheckResult, checkFailed, checkPassed } from '../lib/check-result.ts'
import { databaseFindings } from './database-findings.ts'

/** The minimum version in `package.json`. */
const MIN_NODE = { major: 20, minor: 19 }
/** A slower login is noticeable, and a few of them fill the queue. */
const SLOW_MS = 1000

/** The replaced parts of the service, which are checked instead of the defaults. */
export interface DoctorOptions {
  readonly database?: Database | undefined
  readonly adapters?: AdapterOverrides | undefined
}

/** Checks everything that a service needs to start. Problems are findings, not errors. Changes nothing. */
export async function diagnose({
  database = postgresDatabase(),
  adapters,
}: DoctorOptions): Promise<Diagnosis> {
  const survey = surveyProcess()
  const { auditLog } = survey.configuration
  const findings = [
    ...settingsFindings(survey),
    nodeFinding(process.versions.node),
    ...survey.files.map(({ name, path }) => secretFile(`files.${name}`, path)),
    ...(auditLog === null ? [] : [appendableFile('files.AUDIT_LOG', auditLog)]),
    await hashingFinding(survey.configuration, adapters),
    ...(await databaseFindings(survey, database, adapters?.clock ?? systemClock)),
  ]
  return { settings: survey.settings, findings }
}

function settingsFindings({
  problems,
  warnings,
  settings,
  configuration,
}: ProcessSurvey): readonly CheckResult[] {
  const findings = [
    ...problems.map(({ name, problem, example }) =>
      checkFailed(`settings.${name}`, 'failure', problem, `Example: ${example}`),
    ),
    ...[
      ...warnings,
      ...findExposures(configuration),
      ...findUnaudited(configuration),
      ...findInexactVerifiers(configuration),
    ].map(({ name, sentence }) =>
      checkFailed(`settings.${name}`, 'warning', sentence, 'See docs/reference/settings.md.'),
    ),
  ]
  if (findings.length > 0) return findings
  const set = settings.filter(({ source }) => source !== 'default').length
  return [checkPassed('settings', `${set} of ${settings.length} settings are set, and all are valid.`)]
}

/** Returns the finding about a version of Node. */
export function nodeFinding(version: string): CheckResult {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isSupported = major > MIN_NODE.major || (major === MIN_NODE.major && minor >= MIN_NODE.minor)
  const needed = `${MIN_NODE.major}.${MIN_NODE.minor}`
  if (isSupported) return checkPassed('node', `Node ${version}.`, { version })
  return checkFailed('node', 'failure', `Node ${version} is too old.`, `Install Node ${needed} or newer.`, {
    version,
  })
}

async function hashingFinding(
  configuration: Configuration,
  adapters: AdapterOverrides | undefined,
): Promise<CheckResult> {
  const { bcryptCost: cost, workers } = configuration
  const threads = hashingThreads(configuration)
  const hashMs = await measureHashing(adapters?.passwords ?? bcryptPasswordHasher({ cost }))
  const concurrency = Math.min(threads * workers, availableParallelism())
  const perSecond = Math.round((10_000 * concurrency) / hashMs) / 10
  const facts = {
    cost,
    hash_ms: Math.round(hashMs * 10) / 10,
    concurrency,
    logins_per_second: perSecond,
  }
  const message = `Hashing a password takes ${Math.round(hashMs)} ms here at BCRYPT_COST=${cost}; with ${concurrency} in parallel, that allows ${perSecond} logins a second.`
  if (hashMs <= SLOW_MS) return checkPassed('hashing', message, facts)
  return checkFailed(
    'hashing',
    'warning',
    message,
    'Lower BCRYPT_COST: a login should take less than a second.',
    facts,
  )
}
