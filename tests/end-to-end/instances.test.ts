import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startApp } from '../support/running-app.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { openTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const LEASE_MS = 1000

for (const TOKEN_CACHE_TTL of ['60s', '0s']) {
  test(`an instance with TOKEN_CACHE_TTL=${TOKEN_CACHE_TTL} acknowledges a revocation only once a hanging instance refuses the token`, {
    skip: postgresAlone,
  }, async (t) => {
    const one = await startApp({ env: { TOKEN_CACHE_TTL } })
    const listener = await openTcpProxy(one.database.url)
    const hanging = await startApp({ database: one.database, env: { DATABASE_DIRECT_URL: listener.url } })
    t.after(async () => {
      listener.thaw()
      await hanging.close()
      await listener.close()
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
      listener.freeze()
      const ending = await one.call(path, { token, ...(body === undefined ? {} : { body }) })
      assert.equal(ending.status, 200)
      assert.equal((await hanging.call('/api/me', { token })).status, 401, path)
      listener.thaw()
      const endMs = performance.now() + 10_000
      while (!hanging.service.invalidations.isCurrent() && performance.now() < endMs) await sleep(20)
    }
  })
}

test('every response that reports a revoked token waits for a hanging instance, even if nothing is left to revoke', {
  skip: postgresAlone,
}, async (t) => {
  const one = await startApp({})
  const listener = await openTcpProxy(one.database.url)
  const hanging = await startApp({ database: one.database, env: { DATABASE_DIRECT_URL: listener.url } })
  t.after(async () => {
    listener.thaw()
    await hanging.close()
    await listener.close()
    await one.close()
  })
  const { email } = await one.addCustomer()
  await sleep(LEASE_MS)
  const login = () => one.call('/api/login', { body: { email, password: 'correct horse 9' } })
  for (const [what, status, ending] of [
    ['a login', 200, login],
    ['a refused logout', 401, (token: string) => one.call('/api/logout', { token })],
    ['a repeated login', 200, () => login().then(login)],
  ] as const) {
    const token = await one.login(email)
    for (let use = 0; use < 3; use += 1) assert.equal((await hanging.call('/api/me', { token })).status, 200)
    listener.freeze()
    // The change commits immediately, then waits for the other instance.
    const logout = one.call('/api/logout', { token })
    await until(async () => (await one.call('/api/me', { token })).status === 401)
    assert.equal((await ending(token)).status, status, what)
    assert.equal((await hanging.call('/api/me', { token })).status, 401, `accepted after ${what}`)
    assert.equal((await logout).status, 200)
    listener.thaw()
    await until(hanging.service.invalidations.isCurrent)
  }
})
