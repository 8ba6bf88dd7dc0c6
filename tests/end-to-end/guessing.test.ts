import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Called } from '../../src/testing/call.ts'
import { PASSWORD, type RunningApp, startApp } from '../support/running-app.ts'

let app: RunningApp
before(async () => {
  app = await startApp({
    env: { LOGIN_LIMIT_ACCOUNT: '3/15m', LOGIN_LIMIT_ADDRESS: '20/1h', TRUST_PROXY: '1' },
  })
})
after(() => app.close())

describe('Password guessing', () => {
  it('gets 429 with Retry-After once the limit is reached, even with the right password', async () => {
    const { email } = await app.addCustomer()
    for (let i = 0; i < 3; i++) assert.equal((await attempt(email, '192.0.2.1', 'wrong')).status, 401)
    const refused = await attempt(email, '192.0.2.1')
    assert.equal(refused.status, 429)
    assert.deepEqual(refused.body, {
      success: false,
      code: 429,
      error: 'Too many logins have failed. Please try again later.',
      reason: 'too_many_requests',
      request_id: refused.headers.get('x-request-id'),
    })
    assert.equal(refused.headers.get('ratelimit-policy'), '"account";q=3;w=900')
    const seconds = Number(refused.headers.get('retry-after'))
    assert.ok(seconds > 890 && seconds <= 900)
    assert.equal(refused.headers.get('ratelimit'), `"account";r=0;t=${seconds}`)
    assert.equal((await attempt(email, '192.0.2.2')).status, 200)
  })

  it('is counted by address over all accounts', async () => {
    for (let i = 0; i < 20; i++) {
      assert.equal((await attempt(`nobody-${i}@example.com`, '2001:db8::1', 'wrong')).status, 401)
    }
    const { headers, status } = await attempt('other@example.com', '2001:db8::ffff')
    assert.deepEqual([status, headers.get('ratelimit-policy')], [429, '"address";q=20;w=3600'])
  })

  it('of one account from many addresses is admitted once in 45 seconds', async () => {
    const { email } = await app.addCustomer()
    assert.equal((await attempt(email, '192.0.2.10')).status, 200)
    for (let i = 0; i < 20; i++) {
      assert.equal((await attempt(email, `198.51.100.${i}`, 'wrong')).status, 401)
    }
    const { headers, status } = await attempt(email, '203.0.113.1')
    assert.equal(status, 429)
    assert.equal(headers.get('ratelimit-policy'), '"guesses";q=1;w=45')
    const seconds = Number(headers.get('retry-after'))
    assert.ok(seconds > 15 && seconds <= 45, `${seconds}`)
    assert.equal(headers.get('ratelimit'), `"guesses";r=0;t=${seconds}`)
    assert.equal((await attempt(email, '192.0.2.10')).status, 200, 'from the earlier address of the owner')
  })
})

function attempt(email: string, from: string, password = PASSWORD): Promise<Called> {
  return app.call('/api/login', {
    body: { email, password },
    headers: { 'X-Forwarded-For': `forged, ${from}` },
  })
}
