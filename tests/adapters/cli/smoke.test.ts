import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, describe, type TestContext, test } from 'node:test'
import { selfSignedFor, withoutOpenssl } from '../../support/certificate.ts'
import { hasHaProxy, openHaProxy } from '../../support/haproxy.ts'
import { PASSWORD, type RunningApp, startApp } from '../../support/running-app.ts'
import { temporaryFolder } from '../../support/running-process.ts'
import { makeCommandLine } from './command-line.ts'

const EMAIL = 'smoke@example.com'

const smoke = (urls: readonly string[], password = PASSWORD, more: readonly string[] = []) =>
  makeCommandLine().run(['smoke', ...urls, '--email', EMAIL, '--password-stdin', ...more], `${password}\n`)

async function listening(t: TestContext, server: Server): Promise<number> {
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return (server.address() as AddressInfo).port
}
const responding = (t: TestContext, listener: RequestListener) => listening(t, createServer(listener))

describe('smoke', () => {
  let one: RunningApp
  let other: RunningApp
  before(async () => {
    // Otherwise the log has ten denials of an address a second, and the number of the others.
    const env = { ACCESS_LOG: 'all' }
    one = await startApp({ env })
    other = await startApp({ database: one.database, env })
    await one.addCustomer({ email: EMAIL })
  })
  after(async () => {
    await other.close()
    await one.close()
  })

  test('logs in, calls me, logs out, and finds that every instance refuses the token', async () => {
    const { code, stdout, stderr } = await smoke([one.url, `${other.url}/`])
    assert.deepEqual([code, stderr], [0, ''])
    const lines = stdout.trim().split('\n')
    assert.deepEqual(
      lines.map((line) => line.replace(/ +in \d+ ms:?/, ' ').trim()),
      [
        `ok  reached  ${one.url}/`,
        `ok  reached  ${other.url}/`,
        'ok  login  this revokes an earlier login token of the customer',
        'ok  me  200 on 100 new connections',
        'ok  logout',
        'ok  revoked  401 on 100 of 100 new connections, from the logout on',
      ],
    )
    for (const app of [one, other])
      assert.equal(app.logLines.filter((line) => /"status":401/.test(line)).length, 51)
  })

  test('reaches every instance behind a load balancer', {
    skip: hasHaProxy() ? false : 'haproxy is not on this machine',
  }, async (t) => {
    const balancer = await openHaProxy([one.port, other.port])
    t.after(() => balancer.close())
    const before = [one, other].map(({ logLines }) => logLines.length)
    const { code, stdout } = await smoke([balancer.url], PASSWORD, ['--connections', '10'])
    assert.equal(code, 0)
    assert.match(stdout, /401 on 10 of 10 new connections/)
    for (const [i, app] of [one, other].entries()) assert.ok(app.logLines.length > (before[i] ?? 0))
  })

  test('reports a wrong password in one line, without showing it', async () => {
    const { code, stdout, stderr } = await smoke([one.url], 'a wrong horse')
    assert.equal(code, 1)
    assert.match(stdout, /^ok {2}reached .*\n$/)
    assert.match(stderr, /^latchkey: login: 401 invalid_credentials: [^\n]* \(expected 200\)\n$/)
    assert.doesNotMatch(stdout + stderr, /horse/)
  })

  test('reports an instance that still accepts the token, and for how long', async (t) => {
    let isOut = false
    let late = 3
    const port = await responding(t, (request, response) => {
      const failure = (reason: string) => ({ success: false, reason, error: 'No.' })
      const respond = (status: number, body: object) => {
        response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
      }
      if (request.url === '/api/login') return respond(200, { success: true, token: 't' })
      if (request.headers.authorization === undefined) return respond(401, failure('missing_token'))
      if (request.url === '/api/logout') isOut = true
      if (!isOut || request.url === '/api/logout' || late-- > 0) return respond(200, { success: true })
      return respond(401, failure('invalid_token'))
    })
    const { code, stdout, stderr } = await smoke([`http://127.0.0.1:${port}`])
    assert.equal(code, 1)
    assert.match(stdout, /ok {2}logout .*\n$/)
    assert.match(
      stderr,
      /^latchkey: revoked: 3 of 50 new connections were accepted after the logout, the last \d+ ms after it\.\n$/,
    )
  })

  test('logs out when a check after the login fails', async (t) => {
    const asked: (string | undefined)[] = []
    const port = await responding(t, (request, response) => {
      asked.push(request.url)
      const hasToken = request.headers.authorization !== undefined
      const [status, body] =
        request.url === '/api/login'
          ? [200, { success: true, token: 't' }]
          : [
              hasToken ? 503 : 401,
              { success: false, reason: hasToken ? 'unavailable' : 'missing_token', error: 'No.' },
            ]
      response.writeHead(status).end(JSON.stringify(body))
    })
    const { code, stderr } = await smoke([`http://127.0.0.1:${port}`])
    assert.deepEqual([code, stderr], [1, 'latchkey: me: 503 unavailable: No. (expected 200)\n'])
    assert.equal(asked.at(-1), '/api/logout')
  })

  test('reports in one line a server that is not Latchkey', async (t) => {
    const port = await responding(t, (_request, response) =>
      response.setHeader('Content-Type', 'text/html').end('<p>'),
    )
    assert.deepEqual(await smoke([`http://127.0.0.1:${port}/base`]), {
      code: 1,
      stdout: '',
      stderr: `latchkey: reached: http://127.0.0.1:${port}/base is no Latchkey: it responded to POST /api/me with 200 and text/html, not with its JSON.\n`,
    })
  })

  test('reports in one line that nothing listens, and that the server does not speak TLS', async () => {
    for (const [url, line] of [
      ['http://127.0.0.1:1', 'http://127.0.0.1:1 refuses the connection: nothing listens there.'],
      [
        one.url.replace('http', 'https'),
        `${one.url.replace('http', 'https')} does not speak TLS: is it http:// instead?`,
      ],
    ] as const)
      assert.deepEqual(await smoke([url]), { code: 1, stdout: '', stderr: `latchkey: reached: ${line}\n` })
  })

  test('reports in one line a certificate that is not trusted', {
    skip: withoutOpenssl,
  }, async (t) => {
    const folder = await temporaryFolder()
    t.after(() => folder.remove())
    const server = createSecureServer(selfSignedFor(folder.path))
    const port = await listening(t, server)
    const { code, stderr } = await smoke([`https://localhost:${port}`])
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^latchkey: reached: The certificate of \S+ is not trusted: self-signed certificate\. NODE_EXTRA_CA_CERTS[^\n]*\n$/,
    )
  })

  for (const [argv, line] of [
    [['smoke', '--email', 'a@b'], /missing required argument 'url'/],
    [['smoke', 'http://a'], /required option '--email <email>' not specified/],
    [['smoke', 'a:1', '--email', 'a@b'], /a url must begin with/],
    [['smoke', 'http://ana:hunter2@a', '--email', 'a@b'], /a url must begin with/],
    [['smoke', 'http://a', '--email', 'a@b', '--connections', '4'], /from 5 to 1000/],
    [['smoke', 'http://a', '--email', 'a@b', '--password', 'hunter2'], /unknown option '--password'/],
  ] as const)
    test(`refuses ${argv.join(' ')} as wrong usage in one line`, async () => {
      const { code, stdout, stderr } = await makeCommandLine().run(argv)
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, line)
      assert.match(stderr, /^latchkey: [^\n]+\n$/)
      assert.doesNotMatch(stderr, /hunter2/)
    })

  test('needs a terminal or --password-stdin', async () => {
    const { code, stderr } = await makeCommandLine().run(['smoke', one.url, '--email', EMAIL])
    assert.equal(code, 1)
    assert.match(stderr, /give it with --password-stdin/)
  })
})
