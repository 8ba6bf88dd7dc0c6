import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { takeResponse } from '../support/raw-http.ts'
import { startApp } from '../support/running-app.ts'
import { until } from '../support/until.ts'

const FLOODING_CONNECTIONS = 40
const HONEST_REQUESTS = 1000
const secrets = tokenSecrets({ prefix: 'lk' })

/** Presents invented tokens one after the other and counts the statuses. */
function flood(port: number, statuses: Map<number, number>): Socket {
  const socket = connect(port, '127.0.0.1')
  const present = () =>
    socket.write(
      `POST /api/me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secrets.issue().secret}\r\nContent-Length: 0\r\n\r\n`,
    )
  let text = ''
  socket.setEncoding('latin1').on('connect', present)
  socket.on('error', () => {})
  socket.on('data', (more) => {
    text += more
    const taken = takeResponse(text, false)
    if (taken === null) return
    text = taken.rest
    statuses.set(taken.response.status, (statuses.get(taken.response.status) ?? 0) + 1)
    present()
  })
  return socket
}

describe('invented tokens from one address', () => {
  for (const TOKEN_CACHE_TTL of ['60s', '0s']) {
    test(`do not affect tokens that this instance issued or validated, with TOKEN_CACHE_TTL=${TOKEN_CACHE_TTL}`, async (t) => {
      const app = await startApp({ env: { TOKEN_CACHE_TTL } })
      t.after(() => app.close())
      const customer = await app.addCustomer()
      const validated = await app.addToken(customer)
      assert.equal((await app.call('/api/me', { token: validated })).status, 200)
      const statuses = new Map<number, number>()
      const sockets = Array.from({ length: FLOODING_CONNECTIONS }, () => flood(app.port, statuses))
      t.after(() => {
        for (const socket of sockets) socket.destroy()
      })
      await until(() => (statuses.get(429) ?? 0) > 1000)
      const issued = await app.login(customer.email)
      const honest = [issued, validated, issued, validated].map(async (token) => {
        for (let i = 0; i < HONEST_REQUESTS / 4; i++)
          assert.equal((await app.call('/api/me', { token })).status, 200)
      })
      await Promise.all(honest)
    })
  }

  test('are refused with rate limit headers', async (t) => {
    const app = await startApp()
    t.after(() => app.close())
    const present = () => app.call('/api/me', { token: secrets.issue().secret })
    let refused = await present()
    await until(async () => {
      refused = await present()
      return refused.status === 429
    })
    const { body, headers } = refused
    assert.equal(body.reason, 'too_many_requests')
    assert.equal(headers.get('retry-after'), '1')
    assert.equal(headers.get('ratelimit-policy'), '"tokens";q=100;w=5')
    assert.equal(headers.get('ratelimit'), '"tokens";r=0;t=1')
  })
})
