import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { createTestDatabase } from './database.ts'
import { openPgBouncer } from './pgbouncer.ts'
import { runLatchkey, temporaryFolder } from './running-process.ts'

/** A result of `doctor --json`. */
export interface Check {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'failure'
  readonly message: string
  readonly hint: string | null
}

/** Where one test runs `doctor`: its folder and the databases that it creates. All of it is removed after the test. */
export interface Place {
  readonly path: string
  /** Writes a file, readable by its owner alone unless `mode` says otherwise, and returns its path. */
  write(name: string, content: string | Uint8Array, mode?: number): string
  /** Creates a database and runs these statements in it, in which `:db` is its name. Returns its URL. */
  database(...statements: readonly string[]): Promise<string>
  /** The same, but returns the URL of a role, `:role`, that has the privileges of the service before the statements. */
  databaseOfRole(...statements: readonly string[]): Promise<string>
  /** Starts a PgBouncer in front of a database and returns its URL. */
  pooler(url: string): Promise<string>
  /** Creates an embedded database, in the folder `data` unless the settings name another. */
  embedded(env?: Record<string, string>): Promise<void>
  onEnd(act: () => unknown): void
}

const PASSWORD = 'of-a-role-for-one-test'
const SERVICE_GRANTS = `
  grant all on all tables in schema public to :role;
  grant execute on all functions in schema public to :role`

/** Creates a place for one test. */
export async function createPlace(t: TestContext): Promise<Place> {
  const folder = await temporaryFolder()
  const ends: (() => unknown)[] = [() => folder.remove()]
  t.after(async () => {
    for (const end of ends.reverse()) await end()
  })
  return {
    path: folder.path,
    write(name, content, mode = 0o600) {
      const path = join(folder.path, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
      chmodSync(path, mode)
      return path
    },
    database: (...statements) => database(statements),
    async databaseOfRole(...statements) {
      const create = `create role :role login password '${PASSWORD}'`
      const url = new URL(await database([create, ...SERVICE_GRANTS.split(';'), ...statements], true))
      Object.assign(url, { username: `${url.pathname.slice(1)}_role`, password: PASSWORD })
      return url.href
    },
    async pooler(url) {
      const pooler = await openPgBouncer(url)
      ends.push(() => pooler.close())
      return pooler.url
    },
    async embedded(env = {}) {
      const { code, stderr } = await runLatchkey(['migrate'], { cwd: folder.path, env })
      if (code !== 0) throw new Error(stderr)
    },
    onEnd: (act) => void ends.push(act),
  }

  async function database(statements: readonly string[], hasRole = false): Promise<string> {
    const created = await createTestDatabase()
    const name = new URL(created.url).pathname.slice(1)
    const role = `${name}_role`
    ends.push(async () => {
      // Its settings may refuse changes.
      if (hasRole) await created.sql(`begin read write; drop owned by ${role}; drop role ${role}; commit`)
      await created.drop()
    })
    for (const text of statements) await created.sql(text.replaceAll(':role', role).replaceAll(':db', name))
    return created.url
  }
}
