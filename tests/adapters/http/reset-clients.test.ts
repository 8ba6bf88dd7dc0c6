import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openRawClient } from '../../support/raw-client.ts'
import { type RunningApp, startApp } from '../../support/running-app.ts'
import { until } from '../../support/until.ts'

const CLIENTS = 60

let app: RunningApp
before(async () => {
  app = await startApp()
})
after(() => app?.close())

function request(path: string, body: string, headers = ''): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

const LOGIN = request('/api/login', '{"email":"nobody@example.com","password":"wrong"}')

for (const [name, event, send] of [
  ['a refused login', 'login.failed', LOGIN],
  ['a refused token', 'token.denied', null],
  ['a refused service token', 'service.denied', 'GET /api/status HTTP/1.1\r\nHost: x\r\n\r\n'],
] as const)
  test(`${name} is audited with the address of a client that resets its connection`, async () => {
    const deniedToken = request('/api/me', '', `Authorization: Bearer ${await unknownToken()}\r\n`)
    const from = app.auditLines.length
    const lines = () => app.auditLines.slice(from).map((line) => JSON.parse(line))
    for (let n = 0; n < CLIENTS; n++) {
      const { socket } = await openRawClient(app.port)
      socket.write(send ?? deniedToken, () => socket.resetAndDestroy())
    }
    // A client that has reset its connection before it was accepted is not served. This one stays.
    const { socket } = await openRawClient(app.port)
    socket.write(send ?? deniedToken)
    // Denials beyond ten a second are counted in one line, which has the address, too.
    await until(() => lines().some((line) => line.event === event))
    // A response shows that the service has handled what arrived before.
    await app.call('/api/me', { token: null })
    socket.destroy()
    const addresses = new Set(lines().map(({ address }) => address))
    assert.deepEqual([...addresses], ['127.0.0.1'])
  })

async function unknownToken(): Promise<string> {
  const customer = await app.addCustomer()
  const secret = await app.addToken(customer)
  await app.service.useCases.customers.delete(customer.id, app.service.useCases.deadline(60_000))
  return secret
}
