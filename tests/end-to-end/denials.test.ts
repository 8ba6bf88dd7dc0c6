import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { takeResponse } from '../support/raw-http.ts'
import { type RunningApp, startApp } from '../support/running-app.ts'
import { until } from '../support/until.ts'

const REQUESTS = 3000
/** Of the lines that the requests of one kind may cause in a second. Without aggregation, all take about 1.5 MB. */
const MAX_BYTES_PER_SECOND = 10_000

let app: RunningApp
before(async () => {
  app = await startApp({ env: { LOG_LEVEL: 'info' } })
})
after(() => app.close())

/** Sends the request again and again on one connection, each time after the response. Returns how often each status came. */
async function send(bytes: () => string, count = REQUESTS): Promise<ReadonlyMap<number, number>> {
  const statuses = new Map<number, number>()
  const socket = connect(app.port, '127.0.0.1')
  let text = ''
  let responses = 0
  socket.setEncoding('latin1').on('connect', () => socket.write(bytes()))
  socket.on('data', (more) => {
    text += more
    const taken = takeResponse(text, false)
    if (taken === null) return
    text = taken.rest
    const { status } = taken.response
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    responses += 1
    if (responses < count) socket.write(bytes())
  })
  await until(() => responses === count)
  socket.destroy()
  return statuses
}

const request =
  (line: string, headers = '', body = '') =>
  () =>
    `${line} HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`
const bearer = (secret: string) => `Authorization: Bearer ${secret}\r\n`
const lines = () => [...app.logLines, ...app.auditLines].map((line) => JSON.parse(line))

describe(`${REQUESTS} requests from one address`, () => {
  const secrets = tokenSecrets({ prefix: 'lk' })
  for (const [kind, bytes, expected, audited] of [
    ['without a token on a service route', request('GET /api/status'), [401], /^service\./],
    ['without a token', request('POST /api/me'), [401], null],
    [
      'with invented tokens',
      () => request('POST /api/me', bearer(secrets.issue().secret))(),
      [401, 429],
      null,
    ],
    [
      'with a wrong password',
      request(
        'POST /api/login',
        'Content-Type: application/json\r\n',
        '{"email":"a@example.com","password":"wrong"}',
      ),
      [401, 429],
      /^login\./,
    ],
  ] as const)
    test(`${kind} write few lines, and the number of the others`, async () => {
      app.logLines.splice(0)
      app.auditLines.splice(0)
      const beganMs = performance.now()
      const statuses = await send(bytes)
      const seconds = (performance.now() - beganMs) / 1000
      // On a busy machine, the database may take longer than a request waits.
      const refused = REQUESTS - (statuses.get(503) ?? 0)
      assert.deepEqual([...statuses.keys()].filter((status) => status !== 503).sort(), expected)
      const count = (event: RegExp) =>
        lines()
          .filter((line) => event.test(line.denied_event ?? line.event))
          .reduce((sum, line) => sum + (line.count ?? 1), 0)
      await until(() => count(/^request(\.left_out)?$/) === refused)
      // Of the invented tokens, only those that were looked up have an event, which may come while the next test runs.
      if (audited !== null) {
        await until(() => count(audited) >= refused)
        assert.ok(count(audited) <= REQUESTS)
      }
      const bytesWritten = [...app.logLines, ...app.auditLines].join('').length
      // Seconds of the clock, of which the first and the last are cut.
      const most = MAX_BYTES_PER_SECOND * (seconds + 2)
      assert.ok(bytesWritten < most, `${bytesWritten} bytes in ${seconds} s`)
      for (const line of lines().filter(({ event }) => event.endsWith('left_out')))
        assert.equal(line.address, '127.0.0.1')
    })

  test('with a revoked token are charged: most get 429 without a lookup', async () => {
    const { email } = await app.addCustomer()
    const revoked = await app.login(email)
    await app.login(email)
    const statuses = await send(request('POST /api/me', bearer(revoked)), 500)
    assert.deepEqual([...statuses.keys()].sort(), [401, 429])
  })

  test('leave the events of a login and a logout complete', async () => {
    const { email } = await app.addCustomer()
    app.auditLines.splice(0)
    const flood = send(request('GET /api/status'))
    for (let count = 0; count < 20; count++)
      assert.equal((await app.call('/api/logout', { token: await app.login(email) })).status, 200)
    await flood
    const events = lines().filter(({ audit }) => audit === true)
    for (const name of ['login.succeeded', 'token.issued', 'token.revoked'])
      assert.equal(events.filter(({ event }) => event === name).length, 20, name)
  })
})
