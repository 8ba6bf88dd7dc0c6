import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { posix } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { createTestApp, type TestApp } from '../../src/testing/test-app.ts'
import type { TestCaller } from '../../src/testing/test-clients.ts'
import type { Balancer } from '../support/balancer.ts'
import { GATEWAYS } from '../support/gateways.ts'

const FORGERIES = 1000
const NAMES = ['Customer', 'Email', 'Token-Id', 'Token-Name', 'Abilities']
const UNKNOWN = tokenSecrets({ prefix: 'lk' }).issue().secret

for (const { name, isInstalled, open } of GATEWAYS)
  describe(`${name} as a gateway`, { skip: isInstalled ? false : `${name} is not installed` }, () => {
    let app: TestApp
    let gateway: Balancer
    let reader: TestCaller
    /** The requests that the application received. */
    const received: IncomingMessage[] = []
    const application = createServer((request, response) => {
      received.push(request)
      request.resume().on('end', () => response.end('application'))
    })
    before(async () => {
      app = await createTestApp({ settings: { TRUST_PROXY: '1' } })
      reader = await app.as(await app.customer({ email: 'zoë@example.com' }), {
        abilities: ['orders:read'],
        name: 'till 1',
      })
      application.listen(0, '127.0.0.1')
      await once(application, 'listening')
      gateway = await open(Number(new URL(app.url).port), portOf(application.address()))
    })
    after(async () => {
      await gateway.close()
      application.closeAllConnections()
      application.close()
      await app.close().catch(() => {})
    })

    const get = (path: string, token: string | null, more: RequestInit = {}) =>
      send(gateway, path, token, more)

    test('passes the identity on, and not the token', async () => {
      const { status } = await get('/', reader.secret)
      assert.equal(status, 200)
      const { headers } = received.at(-1) ?? assert.fail()
      assert.equal(headers['x-latchkey-email'], 'zo%C3%AB@example.com')
      assert.equal(headers['x-latchkey-token-name'], 'till%201')
      assert.equal(headers['x-latchkey-abilities'], 'orders:read')
      assert.equal(headers.authorization, undefined)
    })

    test('passes a body on', async () => {
      const { status } = await get('/orders/', reader.secret, { method: 'POST', body: 'x'.repeat(100_000) })
      assert.equal(status, 200)
      assert.equal(received.at(-1)?.method, 'POST')
    })

    test('refuses with 401 and 403, of which the application receives nothing', async () => {
      const other = await app.as(await app.customer(), { abilities: ['orders:write'] })
      const before = received.length
      for (const [path, token, expected] of [
        ['/', null, 401],
        ['/', UNKNOWN, 401],
        ['/orders/', null, 401],
        ['/orders/1', other.secret, 403],
      ] as const) {
        const response = await get(path, token)
        assert.equal(response.status, expected)
        if (expected === 401)
          assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer realm="api"/)
      }
      assert.equal(received.length, before)
      assert.equal((await get('/', other.secret)).status, 200)
    })

    test('requires an ability however its path is written', async () => {
      const { secret } = await app.as(await app.customer(), { abilities: ['orders:write'] })
      for (const path of [
        '/%6frders/1',
        '//orders/1',
        '/./orders/1',
        '/x/../orders/1',
        '/x/%2e%2e/orders/1',
      ]) {
        received.length = 0
        await getRaw(gateway, path, secret)
        const arrived = received.map(({ url = '' }) => posix.normalize(decodeURIComponent(url)))
        assert.ok(!arrived.some((one) => one.startsWith('/orders/')), `${path} arrived as ${arrived}`)
      }
    })

    test(`removes forged headers: 0 of ${FORGERIES} arrive`, async () => {
      let arrived = 0
      for (let n = 0; n < FORGERIES; n++) {
        const forged = forgedName(n)
        await get(n % 2 === 0 ? '/' : '/orders/1', reader.secret, { headers: { [forged]: 'forged' } })
        const { rawHeaders } = received.at(-1) ?? assert.fail()
        if (rawHeaders.some((text) => text === 'forged')) arrived += 1
        received.length = 1
      }
      assert.equal(arrived, 0)
    })

    test('charges the client address, which it passes on', async () => {
      await get('/', UNKNOWN, { headers: { 'X-Forwarded-For': '192.0.2.1' } })
      assert.equal(app.audit.at(-1)?.event, 'token.denied')
      assert.equal(app.audit.at(-1)?.address, '127.0.0.1')
    })

    test('refuses a token once its revocation is acknowledged', async () => {
      const { email, password } = await app.customer()
      const { body } = await app.call('/api/login', { body: { email, password } })
      assert.equal((await get('/', body.token)).status, 200)
      await app.call('/api/logout', { token: body.token })
      assert.equal((await get('/', body.token)).status, 401)
    })

    test('fails closed when Latchkey hangs or is away', async (t) => {
      const silent = createTcpServer((socket) => {
        socket.on('error', () => {}).resume()
        t.after(() => socket.destroy())
      }).listen(0, '127.0.0.1')
      await once(silent, 'listening')
      const before = received.length
      const behindSilence = await open(portOf(silent.address()), portOf(application.address()))
      t.after(() => behindSilence.close())
      assert.ok((await send(behindSilence, '/', reader.secret)).status >= 500)
      silent.close()
      await app.close()
      for (const path of ['/', '/orders/1']) assert.ok((await get(path, reader.secret)).status >= 500)
      assert.equal(received.length, before)
    })
  })

/** Returns a name that an application may take for one of Latchkey's: any case, and `_` for any `-`. */
function forgedName(n: number): string {
  const known = `X-Latchkey-${n % 3 === 0 ? `Own-${n}` : NAMES[n % NAMES.length]}`
  const name = [...known].map((c, i) => (c === '-' && (n >> (i % 7)) & 1 ? '_' : c)).join('')
  return [name, name.toUpperCase(), name.toLowerCase()][n % 3] ?? name
}

function send(gateway: Balancer, path: string, token: string | null, more: RequestInit = {}) {
  const headers = new Headers(more.headers)
  if (token !== null) headers.set('Authorization', `Bearer ${token}`)
  return fetch(gateway.url + path, { ...more, headers })
}

/** Sends the path as it is. */
async function getRaw(gateway: Balancer, path: string, token: string): Promise<void> {
  const { hostname, port } = new URL(gateway.url)
  const headers = { Authorization: `Bearer ${token}` }
  const [response] = await once(request({ hostname, port, path, headers, agent: false }).end(), 'response')
  await once(response.resume(), 'end')
}

function portOf(address: AddressInfo | string | null): number {
  return (address as AddressInfo).port
}
