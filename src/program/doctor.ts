import { availableParallelism } from 'node:os'
import { measureHashing } from '../adapters/bcrypt/measure-hashing.ts'
import { bcryptPasswordHasher } from '../adapters/bcrypt/password-hasher.ts'
import type { Diagnosis } from '../adapters/cli/operations.ts'
import { hashingThreads } from '../adapters/config/hashing-threads.ts'
import { type ProcessSurvey, surveyProcess } from '../adapters/config/process-configuration.ts'
import { appendableFile, secretFile } from '../adapters/node-fs/permissions.ts'
import { pinoLog } from '../adapters/pino/log.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import type { Configuration } from '../application/configuration.ts'
import type { Database } from '../application/ports/database.ts'
import type { AdapterOverrides } from '../composition/ports.ts'
import { postgresDatabase } from '../composition/postgres-database.ts'
import { type CheckResult, checkFailed, checkPassed } from '../lib/check-result.ts'

/** The oldest that `package.json` allows. */
const OLDEST_NODE = { major: 20, minor: 19 }
/** A login that takes longer is felt, and few of them fill the queue. */
const DEAR_MS = 1000
/** Settings without which no database can be looked for. */
const OF_DATABASE = /^(DATABASE_(DIRECT_)?URL(_FILE)?|DATA_DIR|\.env)$/

/** What is examined. */
export interface DoctorOptions {
  readonly database?: Database | undefined
  readonly adapters?: AdapterOverrides | undefined
}

/** Examines all that a service would start with. Throws for nothing that is wrong, and changes nothing. */
export async function diagnose(options: DoctorOptions): Promise<Diagnosis> {
  const survey = surveyProcess()
  const { auditLog } = survey.configuration
  const findings = [
    ...settingsFindings(survey),
    nodeFinding(process.versions.node),
    ...survey.files.map(({ name, path }) => secretFile(`files.${name}`, path)),
    ...(auditLog === null ? [] : [appendableFile('files.AUDIT_LOG', auditLog)]),
    await hashingFinding(survey.configuration, options),
    ...(await databaseFindings(survey, options)),
  ]
  return { settings: survey.settings, findings }
}

function settingsFindings({ problems, warnings, settings }: ProcessSurvey): readonly CheckResult[] {
  const findings = [
    ...problems.map(({ name, problem, example }) =>
      checkFailed(`settings.${name}`, 'failure', problem, `Example: ${example}`),
    ),
    ...warnings.map((warning) =>
      checkFailed('settings', 'warning', warning, 'The README has a table of settings.'),
    ),
  ]
  if (findings.length > 0) return findings
  const set = settings.filter(({ source }) => source !== 'default').length
  return [checkPassed('settings', `${set} of ${settings.length} are set, and all of them are accepted.`)]
}

/** What there is to say of a version of Node. */
export function nodeFinding(version: string): CheckResult {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOldEnough = major > OLDEST_NODE.major || (major === OLDEST_NODE.major && minor >= OLDEST_NODE.minor)
  const needed = `${OLDEST_NODE.major}.${OLDEST_NODE.minor}`
  if (isOldEnough) return checkPassed('node', `Node ${version}.`, { version })
  return checkFailed('node', 'failure', `Node ${version} is too old.`, `Install Node ${needed} or newer.`, {
    version,
  })
}

async function hashingFinding(
  configuration: Configuration,
  { adapters }: DoctorOptions,
): Promise<CheckResult> {
  const { bcryptCost: cost, workers } = configuration
  const threads = hashingThreads(configuration)
  const hashMs = await measureHashing(adapters?.passwords ?? bcryptPasswordHasher({ cost }))
  const atOnce = Math.min(threads * workers, availableParallelism())
  const perSecond = Math.round((10_000 * atOnce) / hashMs) / 10
  const facts = {
    cost,
    hash_ms: Math.round(hashMs * 10) / 10,
    concurrency: atOnce,
    logins_per_second: perSecond,
  }
  const message = `A password takes ${Math.round(hashMs)} ms here at BCRYPT_COST=${cost}; ${atOnce} at once carry ${perSecond} logins a second.`
  if (hashMs <= DEAR_MS) return checkPassed('hashing', message, facts)
  return checkFailed(
    'hashing',
    'warning',
    message,
    'Lower BCRYPT_COST: a login should take less than a second.',
    facts,
  )
}

async function databaseFindings(
  { configuration, problems }: ProcessSurvey,
  { database = postgresDatabase, adapters }: DoctorOptions,
): Promise<readonly CheckResult[]> {
  const wrong = problems.map(({ name }) => name).filter((name) => OF_DATABASE.test(name))
  if (wrong.length > 0)
    return [
      checkFailed(
        'database',
        'warning',
        'The database was not examined.',
        `Set ${wrong.join(' and ')} right first.`,
      ),
    ]
  if (database.examine === undefined)
    return [checkPassed('database', 'This kind of database has no checks of its own.')]
  const clock = adapters?.clock ?? systemClock
  try {
    return await database.examine({ configuration, log: pinoLog({ level: 'silent' }), clock })
  } catch (error) {
    return [
      checkFailed(
        'database',
        'failure',
        (error as Error).message.replaceAll('\n', ' '),
        'Check its settings.',
      ),
    ]
  }
}
