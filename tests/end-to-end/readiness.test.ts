import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RunningApp, SERVICE_SECRET, startApp } from '../support/running-app.ts'
import { postgresAlone } from '../support/sqlite.ts'

const FOR_EVER_MS = 30_000
const NAME = '0003_login_attempts'

describe('/readyz', () => {
  let app: RunningApp
  before(async () => {
    app = await startApp()
  })
  after(() => app.close())

  const ask = (token: string | null = SERVICE_SECRET) => app.call('/readyz', { method: 'GET', token })
  type ReadinessResponse = Awaited<ReturnType<typeof ask>>
  async function until(matches: (response: ReadinessResponse) => boolean) {
    const endMs = performance.now() + FOR_EVER_MS
    for (;;) {
      const response = await ask()
      if (matches(response)) return response
      assert.ok(performance.now() < endMs, 'the condition was never met')
      await sleep(50)
    }
  }

  test('returns the checks to a caller with a service token', async () => {
    // A stalled machine suspends the lease, and the response says so, until the next round trip.
    const { status, body } = await until(({ body }) => body.checks.invalidations === 'ok')
    assert.equal(status, 200)
    assert.deepEqual(body, {
      success: true,
      checks: {
        database: 'ok',
        migrations: 'ok',
        writable: 'ok',
        schema: 'ok',
        grants: 'ok',
        indexes: 'ok',
        triggers: 'ok',
        invalidations: 'ok',
        draining: 'no',
      },
    })
  })

  test('returns only the state to other callers and audits a wrong token', async () => {
    const denials = () => app.auditLines.filter((line) => line.includes('service.denied')).length
    assert.deepEqual((await ask(null)).body, { success: true })
    assert.equal(denials(), 0)
    const { status, body } = await ask(`${SERVICE_SECRET}x`)
    assert.deepEqual([status, body], [200, { success: true }])
    assert.equal(denials(), 1)
  })

  test('returns 503 with the cause after a migration has been missing for a second', {
    skip: postgresAlone,
  }, async () => {
    const table = 'latchkey_migrations'
    await app.database.sql(`update ${table} set name = 'x' where name = $1`, [NAME])
    const { status, body } = await ask()
    assert.deepEqual([status, body.checks.migrations], [200, 'pending'], 'the failure may be brief')
    const no = await until(({ status }) => status === 503)
    assert.deepEqual(
      [no.body.reason, no.body.checks.migrations, no.headers.get('retry-after')],
      ['unavailable', 'pending', '1'],
    )
    const bare = await ask(null)
    assert.deepEqual([bare.status, bare.body.checks], [503, undefined])
    await app.database.sql(`update ${table} set name = $1 where name = 'x'`, [NAME])
    assert.equal((await until(({ status }) => status === 200)).body.checks.migrations, 'ok')
  })
})
