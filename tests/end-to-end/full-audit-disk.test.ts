import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type RunningApp, startApp } from '../support/running-app.ts'
import { runLatchkey, temporaryFolder } from '../support/running-process.ts'
import { openSmallDisk } from '../support/small-disk.ts'
import { until } from '../support/until.ts'

const EMAIL = 'ada@example.com'

describe('a full disk of the audit log', () => {
  test('stops neither logins, logouts nor operators, and its reserve is created again', async (t) => {
    const folder = await temporaryFolder()
    const disk = openSmallDisk(folder.path, 3)
    let app: RunningApp | null = null
    t.after(async () => {
      await app?.close()
      if (typeof disk !== 'string') disk.close()
      folder.remove()
    })
    if (typeof disk === 'string') return t.skip(disk)
    const path = join(disk.path, 'audit.jsonl')
    const AUDIT_LOG = path
    app = await startApp({ env: { AUDIT_LOG } })
    const { addCustomer, call, database, login, logLines } = app
    await addCustomer({ email: EMAIL })
    assert.equal(statSync(`${path}.reserve`).size, 1024 * 1024)
    const denied = async () => (await call('/api/status', { method: 'GET' })).status
    assert.equal(await denied(), 401)

    disk.fill('filler')
    for (let count = 0; count < 50; count++) {
      const token = await login(EMAIL)
      assert.equal((await call('/api/logout', { token })).status, 200)
    }
    assert.equal(existsSync(`${path}.reserve`), false)
    const token = await login(EMAIL)
    const env = { ...database.env, AUDIT_LOG }
    const { code, stderr } = await runLatchkey(['token', 'revoke', EMAIL], {
      cwd: folder.path,
      env,
      input: '',
    })
    assert.deepEqual([code, stderr], [0, ''])
    await until(async () => (await call('/api/me', { token })).status !== 200)
    assert.equal(await denied(), 503)
    assert.ok(logLines.some((line) => line.includes('"error":"DiskFull"')))
    const succeeded = () => readFileSync(path, 'utf8').match(/^\{.*"event":"login.succeeded"\}$/gm)?.length
    assert.equal(succeeded(), 51)

    rmSync(join(disk.path, 'filler'))
    await until(async () => (await denied()) === 401 && existsSync(`${path}.reserve`))
    assert.equal(statSync(`${path}.reserve`).size, 1024 * 1024)
  })
})
