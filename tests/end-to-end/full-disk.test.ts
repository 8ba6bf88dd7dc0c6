import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { serviceConditions } from '../../src/adapters/postgres/diagnostics/service-conditions.ts'
import { createTestDatabase, sqlOn } from '../support/database.ts'
import { type RunningApp, SERVICE_SECRET, startApp } from '../support/running-app.ts'
import { temporaryFolder } from '../support/running-process.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

/** Mounts a 4 MiB disk that belongs to the user of a local server. */
function mountDisk(path: string): void {
  mkdirSync(path)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0777', 'tmpfs', path], { stdio: 'pipe' })
  mkdirSync(join(path, 'tablespace'))
  execFileSync('chown', ['postgres', join(path, 'tablespace')], { stdio: 'pipe' })
}

describe('a database whose disk is full', { skip: postgresAlone }, () => {
  test('makes the service unready with 503, is reported by doctor, and recovers once there is space', async (t) => {
    const folder = await temporaryFolder()
    const disk = join(folder.path, 'disk')
    const filler = join(disk, 'filler')
    const database = await createTestDatabase()
    const name = new URL(database.url).pathname.slice(1)
    let app: RunningApp | null = null
    t.after(async () => {
      rmSync(filler, { force: true })
      await app?.close()
      await database.drop()
      await sqlOn(process.env.TEST_DATABASE_URL ?? '', `drop tablespace if exists ${name}`)
      spawnSync('umount', [disk])
      folder.remove()
    })
    try {
      mountDisk(disk)
      await database.sql(`create tablespace ${name} location '${join(disk, 'tablespace')}'`)
    } catch (error) {
      return t.skip(`the server cannot get a small disk: ${(error as Error).message.split('\n')[0]}`)
    }
    app = await startApp({ database })
    const { addCustomer, call, logLines } = app
    await database.sql(`alter table login_tokens set tablespace ${name}`)
    await database.sql(`alter database ${name} set temp_tablespaces = ${name}`)
    const { email } = await addCustomer()
    const login = () => call('/api/login', { body: { email, password: 'correct horse 9' } })
    const writable = async () => {
      const { status, body } = await call('/readyz', { method: 'GET', token: SERVICE_SECRET })
      return `${status} ${body.checks.writable}`
    }
    const doctor = async () => {
      const findings = await serviceConditions(database.url, 10_000, false)
      return findings.find((found) => found.name === 'database.writable')
    }
    await until(async () => (await writable()) === '200 ok')
    assert.equal((await doctor())?.state, 'ok')

    assert.throws(() => writeFileSync(filler, Buffer.alloc(8 * 2 ** 20)), { code: 'ENOSPC' })
    await until(async () => (await login()).status === 503)
    await until(async () => (await writable()) === '503 failed')
    assert.deepEqual(
      [(await doctor())?.state, (await doctor())?.message],
      ['failure', 'The disk of the server is full.'],
    )
    assert.ok(logLines.some((line) => line.includes('"database.disk_full"')))
    assert.ok(logLines.every((line) => !line.includes('"status":500')))

    rmSync(filler)
    await until(async () => (await writable()) === '200 ok')
    assert.equal((await login()).status, 200)
    assert.equal((await doctor())?.state, 'ok')
  })
})
