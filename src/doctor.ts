import { availableParallelism } from 'node:os'
import { measureHashing } from './adapters/bcrypt/measure-hashing.ts'
import { bcryptPasswordHasher } from './adapters/bcrypt/password-hasher.ts'
import type { Diagnosis } from './adapters/cli/operations.ts'
import type { Configuration } from './adapters/config/configuration.ts'
import { hashingThreads } from './adapters/config/hashing-threads.ts'
import { type ProcessSurvey, surveyProcess } from './adapters/config/process-configuration.ts'
import { appendableFile, secretFile } from './adapters/node-fs/permissions.ts'
import { pinoLog } from './adapters/pino/log.ts'
import { systemClock } from './adapters/system-clock/clock.ts'
import { type Finding, fault, fine } from './application/finding.ts'
import type { Backend } from './backend.ts'
import type { ChosenAdapters } from './ports-on.ts'
import { postgresBackend } from './postgres-backend.ts'

/** The oldest that `package.json` allows. */
const OLDEST_NODE = { major: 20, minor: 19 }
/** A login that takes longer is felt, and few of them fill the queue. */
const DEAR_MS = 1000
/** Settings without which no database can be looked for. */
const OF_DATABASE = /^(DATABASE_(DIRECT_)?URL(_FILE)?|DATA_DIR|\.env)$/

/** What is examined. */
export interface DoctorOptions {
  readonly backend?: Backend | undefined
  readonly adapters?: ChosenAdapters | undefined
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

function settingsFindings({ problems, warnings, settings }: ProcessSurvey): readonly Finding[] {
  const findings = [
    ...problems.map(({ name, problem, example }) =>
      fault(`settings.${name}`, 'failure', problem, `Example: ${example}`),
    ),
    ...warnings.map((warning) =>
      fault('settings', 'warning', warning, 'The README has a table of settings.'),
    ),
  ]
  if (findings.length > 0) return findings
  const set = settings.filter(({ source }) => source !== 'default').length
  return [fine('settings', `${set} of ${settings.length} are set, and all of them are accepted.`)]
}

/** What there is to say of a version of Node. */
export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOldEnough = major > OLDEST_NODE.major || (major === OLDEST_NODE.major && minor >= OLDEST_NODE.minor)
  const needed = `${OLDEST_NODE.major}.${OLDEST_NODE.minor}`
  if (isOldEnough) return fine('node', `Node ${version}.`, { version })
  return fault('node', 'failure', `Node ${version} is too old.`, `Install Node ${needed} or newer.`, {
    version,
  })
}

async function hashingFinding(configuration: Configuration, { adapters }: DoctorOptions): Promise<Finding> {
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
  if (hashMs <= DEAR_MS) return fine('hashing', message, facts)
  return fault(
    'hashing',
    'warning',
    message,
    'Lower BCRYPT_COST: a login should take less than a second.',
    facts,
  )
}

async function databaseFindings(
  { configuration, problems }: ProcessSurvey,
  { backend = postgresBackend, adapters }: DoctorOptions,
): Promise<readonly Finding[]> {
  const wrong = problems.map(({ name }) => name).filter((name) => OF_DATABASE.test(name))
  if (wrong.length > 0)
    return [
      fault(
        'database',
        'warning',
        'The database was not examined.',
        `Set ${wrong.join(' and ')} right first.`,
      ),
    ]
  if (backend.examine === undefined)
    return [fine('database', 'This kind of database has no checks of its own.')]
  const clock = adapters?.clock ?? systemClock
  try {
    return await backend.examine({ configuration, log: pinoLog({ level: 'silent' }), clock })
  } catch (error) {
    return [
      fault('database', 'failure', (error as Error).message.replaceAll('\n', ' '), 'Check its settings.'),
    ]
  }
}
