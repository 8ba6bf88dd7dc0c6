import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTestDatabase } from '../support/database.ts'
import { startLatchkey, temporaryFolder } from '../support/running-process.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

for (const workers of ['1', '2'])
  test(`SIGHUP rotates the credentials in DATABASE_URL_FILE, with WORKERS=${workers}`, {
    skip: postgresAlone,
  }, async (t) => {
    const folder = await temporaryFolder()
    const database = await createTestDatabase({ migrated: true })
    const suffix = randomBytes(6).toString('hex')
    const [old, next] = [`old_${suffix}`, `next_${suffix}`] as const
    for (const role of [old, next]) await database.sql(`create role ${role} login superuser password 'p'`)
    t.after(async () => {
      await database.drop()
      folder.remove()
    })
    const file = join(folder.path, 'url')
    const write = (role: string, more = '') => {
      const url = new URL(database.url)
      url.username = role
      url.password = 'p'
      writeFileSync(file, `${url.href}${more}\n`, { mode: 0o600 })
    }
    const connections = async (role: string) =>
      (await database.sql('select from pg_stat_activity where usename = $1', [role])).length
    write(old)
    const service = startLatchkey(['serve'], {
      cwd: folder.path,
      env: {
        DATABASE_URL_FILE: file,
        PORT: '0',
        WORKERS: workers,
        BCRYPT_COST: '10',
        HASHING_CONCURRENCY: '1',
      },
    })
    t.after(() => service.child.kill('SIGKILL'))
    const [, url = ''] = await service.until(/running at (http:\S+)/)
    await until(async () => (await connections(old)) > 0)

    write(next, '?application_name=other')
    service.child.kill('SIGHUP')
    await service.until(/only user and password can be reloaded.*settings\.refused/)
    write(next)
    service.child.kill('SIGHUP')
    await service.until(/settings\.reloaded/)
    await database.sql(`alter role ${old} nologin`)
    await database.sql('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [old])
    await until(async () => (await fetch(`${url}/readyz`)).ok && (await connections(next)) >= 3)
    assert.equal(await connections(old), 0)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
    for (const role of [old, next]) await database.sql(`drop role ${role}`)
  })
