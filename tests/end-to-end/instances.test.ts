import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startApp } from '../support/running-app.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { openTcpProxy } from '../support/tcp-proxy.ts'

const LEASE_MS = 1000

for (const TOKEN_CACHE_TTL of ['60s', '0s']) {
  test(`an instance that keeps validations for ${TOKEN_CACHE_TTL} acknowledges when one that hangs accepts nothing any more`, {
    skip: postgresAlone,
  }, async (t) => {
    const one = await startApp({ env: { TOKEN_CACHE_TTL } })
    const link = await openTcpProxy(one.database.url)
    const hanging = await startApp({ database: one.database, env: { DATABASE_DIRECT_URL: link.url } })
    t.after(async () => {
      link.thaw()
      await hanging.close()
      await link.close()
      await one.close()
    })
    const { email } = await one.addCustomer()
    await sleep(LEASE_MS)
    for (const [path, body] of [
      ['/api/logout', undefined],
      ['/api/login', { email, password: 'correct horse 9' }],
    ] as const) {
      const token = await one.login(email)
      for (let use = 0; use < 3; use += 1) {
        assert.equal((await hanging.call('/api/me', { token })).status, 200)
      }
      link.freeze()
      const ending = await one.call(path, { token, ...(body === undefined ? {} : { body }) })
      assert.equal(ending.status, 200)
      assert.equal((await hanging.call('/api/me', { token })).status, 401, path)
      link.thaw()
      const endMs = performance.now() + 10_000
      while (!hanging.service.invalidations.isCurrent() && performance.now() < endMs) await sleep(20)
    }
  })
}
