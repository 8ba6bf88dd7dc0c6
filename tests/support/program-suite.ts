import { after, afterEach, before } from 'node:test'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { type RunningProcess, startLatchkey, temporaryFolder, UNTHROTTLED } from './running-process.ts'

/** The customer of every suite. */
export const EMAIL = 'ana@example.com'
export const PASSWORD = 'correct horse 9'
export const HASH = '$2b$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'

/** Services that run as processes, one after another, on a database with one customer. */
export interface ProgramSuite {
  readonly folder: () => string
  readonly database: () => TestDatabase
  /** Starts a service and waits until it serves. */
  start(env?: Readonly<Record<string, string>>): Promise<StartedProgram>
  /** The number of the customer's logins in verification, by services that limit accounts. */
  loginsBegun(): Promise<number>
  /** Starts a service without waiting for it. */
  launch(env?: Readonly<Record<string, string>>): RunningProcess
}

export interface StartedProgram {
  readonly service: RunningProcess
  readonly url: string
  readonly port: number
}

/** Prepares the tests of a file and cleans up after each, even after a failed one. */
export function programSuite(): ProgramSuite {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let database: TestDatabase
  let running: RunningProcess | null = null
  before(async () => {
    folder = await temporaryFolder()
    database = await createTestDatabase()
    await database.sql(
      'insert into customers (id, email, password_hash, created_at) values (gen_random_uuid(), $1, $2, now())',
      [EMAIL, HASH],
    )
  })
  // A service that a failed test has left would never exit.
  afterEach(() => void running?.child.kill('SIGKILL'))
  after(async () => {
    await running?.ended
    await database.drop()
    folder.remove()
  })

  return {
    folder: () => folder.path,
    database: () => database,
    launch,
    async loginsBegun() {
      const [row] = await database.sql<{ held: number }>(
        'select coalesce(max(cardinality(held)), 0) as held from login_attempts',
      )
      return row?.held ?? 0
    },
    async start(env) {
      const service = launch(env)
      const [, url = ''] = await service.until(/running at (\S+)/)
      return { service, url, port: Number(new URL(url).port) }
    },
  }

  function launch(env: Readonly<Record<string, string>> = {}): RunningProcess {
    running = startLatchkey([], {
      cwd: folder.path,
      env: { PORT: '0', ...database.env, BCRYPT_COST: '4', ...UNTHROTTLED, ...env },
    })
    return running
  }
}
