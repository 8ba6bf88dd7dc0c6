import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { newServiceSecret } from '../../src/adapters/node-crypto/service-secrets.ts'
import { createVerifier, type Verifier } from '../../src/package/verify.ts'
import { PASSWORD, type RunningApp, startApp } from '../support/running-app.ts'
import { until } from '../support/until.ts'

const SECRET = newServiceSecret()
const ENV = { SERVICE_TOKENS: `verifier[verify]=${SECRET}` }

/** Logs out, and returns how long it took in milliseconds. */
async function logOut(app: RunningApp, token: string): Promise<number> {
  const beganMs = performance.now()
  assert.equal((await app.call('/api/logout', { token })).status, 200)
  return performance.now() - beganMs
}

async function startVerifier(url: string): Promise<Verifier> {
  const verifier = createVerifier({ url, serviceToken: SECRET })
  await until(async () => verifier.isCaching())
  return verifier
}

/** A verifier that speaks the protocol by hand. */
async function openRaw(app: RunningApp, name = 'raw', connection = 'Upgrade') {
  const opening = request(`${app.url}/verifiers`, {
    headers: {
      Authorization: `Bearer ${SECRET}`,
      Connection: connection,
      Upgrade: 'latchkey-verifier/1',
      'Latchkey-Verifier': name,
    },
  }).end()
  const status = new Promise<number>((resolve) => {
    opening.on('response', (response) => resolve(response.resume().statusCode ?? 0))
    opening.on('upgrade', () => resolve(101))
  })
  const upgraded = once(opening, 'upgrade').then(([, socket]) => socket as Socket)
  if ((await status) !== 101) return { status: await status, socket: null, lines: [] as string[] }
  const socket = await upgraded
  const lines: string[] = []
  socket.on('error', () => {}).on('data', (chunk) => lines.push(...String(chunk).trim().split('\n')))
  return { status: 101, socket, lines }
}

describe('Verifiers on a service', () => {
  test('cache, and refuse a token once its logout is acknowledged by any instance', async (t) => {
    const one = await startApp({ env: ENV })
    t.after(() => one.close())
    const two = await startApp({ env: ENV, database: one.database })
    t.after(() => two.close())
    const customer = await one.addCustomer({ email: 'ana@example.com' })
    const verifiers = [
      await startVerifier(one.url),
      await startVerifier(two.url),
      await startVerifier(two.url),
    ]
    t.after(() => Promise.all(verifiers.map((verifier) => verifier.close())))
    for (let round = 0; round < 20; round++) {
      const token = await one.login('ana@example.com', PASSWORD)
      for (const verifier of verifiers) {
        assert.equal((await verifier.verify(token))?.customerId, customer.id)
        await until(async () => !(verifier.verify(token) instanceof Promise))
      }
      await logOut(round % 2 === 0 ? one : two, token)
      const results = await Promise.all(verifiers.map((verifier) => verifier.verify(token)))
      assert.deepEqual(results, [null, null, null])
    }
    const [verifier = assert.fail()] = verifiers
    const found = await verifier.verify(await one.login('ana@example.com', PASSWORD))
    assert.deepEqual([found?.email, found?.tokenName, found?.abilities], ['ana@example.com', 'login', ['*']])
    assert.ok((found?.expiresAtMs ?? 0) > Date.now())
  })

  test('that do not acknowledge delay one logout within the second, and are disconnected', async (t) => {
    const app = await startApp({ env: ENV })
    t.after(() => app.close())
    await app.addCustomer({ email: 'ana@example.com' })
    await startVerifier(app.url).then((verifier) => t.after(() => verifier.close()))
    const { socket, lines } = await openRaw(app)
    assert.ok(socket)
    const beating = setInterval(() => socket.write(`beat ${++k}\n`), 250)
    t.after(() => clearInterval(beating))
    let k = 0
    await until(async () => lines.some((line) => /^lease \d+ \d+$/.test(line)))
    const closed = once(socket, 'close')
    const tookMs = await logOut(app, await app.login('ana@example.com', PASSWORD))
    assert.ok(tookMs > 200, `${tookMs}`)
    await closed
    // Again, it may connect, but gets no lease.
    const again = await openRaw(app)
    again.socket?.write('beat 1\n')
    await until(async () => again.lines.length > 0)
    assert.deepEqual(again.lines, ['wait 1'])
    again.socket?.destroy()
    const { body } = await app.call('/metrics', { method: 'GET', token: SECRET })
    assert.equal(body.reason, 'insufficient_scope')
  })

  test('are disconnected for a line that is not understood, or that is too long', async (t) => {
    const app = await startApp({ env: ENV })
    t.after(() => app.close())
    const long = 'x'.repeat(20_000)
    for (const bytes of ['hello\n', 'beat x\n', 'find 1 abc\n', long, '\n', `bye\n${long}`, 'bye\n']) {
      const { socket } = await openRaw(app)
      assert.ok(socket)
      const closed = once(socket, 'close')
      socket.write(bytes)
      await closed
    }
  })

  test('are refused above MAX_VERIFIERS, and without the upgrade, the scope or the token', async (t) => {
    const app = await startApp({ env: { ...ENV, MAX_VERIFIERS: '1' } })
    t.after(() => app.close())
    const first = await openRaw(app)
    assert.equal(first.status, 101)
    assert.equal((await openRaw(app)).status, 503)
    first.socket?.destroy()
    await until(async () => {
      const { status, socket } = await openRaw(app)
      socket?.destroy()
      return status === 101
    })
    const get = (token: string | null) => app.call('/verifiers', { method: 'GET', token })
    assert.equal((await get(SECRET)).status, 400)
    // A proxy has removed the other header.
    assert.equal((await openRaw(app, 'raw', 'keep-alive')).status, 400)
    assert.equal((await get(null)).status, 401)
    assert.equal((await get('x'.repeat(40))).status, 401)
  })

  test('without a connection introspect each token', async (t) => {
    const app = await startApp({ env: { ...ENV, MAX_VERIFIERS: '1' } })
    t.after(() => app.close())
    const token = await app.addToken(await app.addCustomer())
    await openRaw(app).then(({ socket }) => t.after(() => socket?.destroy()))
    const verifier = createVerifier({ url: app.url, serviceToken: SECRET })
    t.after(() => verifier.close())
    for (let n = 0; n < 3; n++) {
      const verifying = verifier.verify(token)
      assert.ok(verifying instanceof Promise)
      assert.equal((await verifying)?.tokenName !== undefined, true)
    }
    assert.equal(verifier.isCaching(), false)
  })

  test('move to another instance when theirs stops', async (t) => {
    const one = await startApp({ env: ENV })
    const two = await startApp({ env: ENV, database: one.database })
    t.after(async () => {
      await two.close()
      await one.close()
    })
    const verifier = createVerifier({ url: [two.url, one.url], serviceToken: SECRET })
    t.after(() => verifier.close())
    await until(async () => verifier.isCaching())
    const token = await one.addToken(await one.addCustomer())
    assert.ok(await verifier.verify(token))
    await two.service.stop({ delay: false })
    await until(async () => verifier.isCaching())
    assert.ok(await verifier.verify(token))
  })

  test('are disconnected when their service token is revoked', async (t) => {
    const app = await startApp({ env: ENV })
    t.after(() => app.close())
    const { socket } = await openRaw(app)
    assert.ok(socket)
    const closed = once(socket, 'close')
    app.service.reload({
      serviceTokens: [],
      logLevel: 'info',
      databaseUrl: null,
      databaseDirectUrl: null,
    })
    await closed
  })

  test('are recorded in the audit log, and shown to operators', async (t) => {
    const operator = newServiceSecret()
    const env = { SERVICE_TOKENS: `${ENV.SERVICE_TOKENS},oncall[ops]=${operator}`, OPS: 'on' }
    const app = await startApp({ env })
    t.after(() => app.close())
    const live = async () => (await app.call('/ops/live', { method: 'GET', token: operator })).body.verifiers
    assert.deepEqual(await live(), [])
    const beganMs = Date.now()
    const { socket } = await openRaw(app, 'till-7')
    assert.ok(socket)
    await until(async () => (await live()).length === 1)
    const [{ name, last_seen_ms }] = await live()
    assert.equal(name, 'verifier till-7')
    assert.ok(last_seen_ms >= beganMs && last_seen_ms <= Date.now())
    const closed = once(socket, 'close')
    socket.write('nonsense\n')
    await closed
    assert.deepEqual(await live(), [])
    const events = app.auditLines
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event.startsWith('verifier.'))
      .map(({ event, service, address, reason }) => ({ event, service, address, reason }))
    const common = { service: 'verifier', address: '127.0.0.1' }
    assert.deepEqual(events, [
      { event: 'verifier.connected', ...common, reason: undefined },
      { event: 'verifier.disconnected', ...common, reason: 'malformed' },
    ])
  })

  test('in a process with the database cache without a connection to an instance', async (t) => {
    const app = await startApp({ env: ENV })
    t.after(() => app.close())
    await app.addCustomer({ email: 'ana@example.com' })
    const verifier = await createVerifier({ databaseUrl: app.database.url })
    t.after(() => verifier.close())
    await until(async () => verifier.isCaching())
    const token = await app.login('ana@example.com', PASSWORD)
    assert.equal((await verifier.verify(token))?.email, 'ana@example.com')
    assert.ok(!(verifier.verify(token) instanceof Promise))
    await logOut(app, token)
    assert.equal(await verifier.verify(token), null)
    assert.equal(await verifier.verify('malformed'), null)
  })
})
