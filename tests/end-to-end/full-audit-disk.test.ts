import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type RunningApp, startApp } from '../support/running-app.ts'
import { runLatchkey, temporaryFolder } from '../support/running-process.ts'
import { until } from '../support/until.ts'

const EMAIL = 'ada@example.com'

/** Fills the disk of a file to its last byte. */
function fill(path: string): void {
  for (const piece of [Buffer.alloc(65_536), Buffer.alloc(1)]) {
    try {
      for (;;) appendFileSync(path, piece)
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
    }
  }
}

describe('a full disk of the audit log', () => {
  test('stops neither logins, logouts nor operators, and its reserve is created again', async (t) => {
    const folder = await temporaryFolder()
    const disk = join(folder.path, 'disk')
    const filler = join(disk, 'filler')
    const path = join(disk, 'audit.jsonl')
    const AUDIT_LOG = path
    let app: RunningApp | null = null
    t.after(async () => {
      await app?.close()
      spawnSync('umount', [disk])
      folder.remove()
    })
    try {
      mkdirSync(disk)
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m,mode=0777', 'tmpfs', disk], { stdio: 'pipe' })
    } catch (error) {
      return t.skip(`this account cannot mount a small disk: ${(error as Error).message.split('\n')[0]}`)
    }
    app = await startApp({ env: { AUDIT_LOG } })
    const { addCustomer, call, database, login, logLines } = app
    await addCustomer({ email: EMAIL })
    assert.equal(statSync(`${path}.reserve`).size, 1024 * 1024)
    const denied = async () => (await call('/api/status', { method: 'GET' })).status
    assert.equal(await denied(), 401)

    fill(filler)
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

    rmSync(filler)
    await until(async () => (await denied()) === 401 && existsSync(`${path}.reserve`))
    assert.equal(statSync(`${path}.reserve`).size, 1024 * 1024)
  })
})
