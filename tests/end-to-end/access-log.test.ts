import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { type CallOptions, callAt } from '../../src/testing/call.ts'
import { EMAIL, PASSWORD, programSuite } from '../support/program-suite.ts'
import { sendRaw } from '../support/raw-http.ts'
import { onSqlite } from '../support/sqlite.ts'

const suite = programSuite()

async function startService(env: Record<string, string>) {
  const { service, url, port } = await suite.start(env)
  return {
    service,
    port,
    call: (path: string, options?: CallOptions) => callAt(url, path, options),
    async end() {
      service.child.kill('SIGTERM')
      return parseLines((await service.ended).stdout)
    },
  }
}

function parseLines(stdout: string) {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** The fields of each line that do not vary between runs. */
function stableFields(lines: ReturnType<typeof parseLines>) {
  return lines
    .filter(({ event, audit }) => !audit && /^(request|token\.|access_log)/.test(event))
    .map(({ level, event, method, route, status, count, code }) =>
      [level, event, method, route, status, count, code].filter((value) => value !== undefined).join(' '),
    )
}

/** Sends one request of every kind, with canaries in every field that a caller controls. */
async function askEverything({ call, port }: Awaited<ReturnType<typeof startService>>) {
  const secrets = tokenSecrets({ prefix: 'lk' })
  const status = async (path: string, options?: CallOptions) => (await call(path, options)).status
  const query = `?canary=${PASSWORD.replaceAll(' ', '+')}`
  const login = await call(`/api/login${query}`, { body: { email: EMAIL, password: PASSWORD } })
  const { token } = login.body
  assert.equal(await status(`/api/me${query}`, { token }), 200)
  assert.equal(await status('/api/me'), 401)
  assert.equal(await status('/api/me', { token: `${token.slice(0, -1)}!` }), 401)
  assert.equal(await status('/api/me', { token: 'canary' }), 401)
  assert.equal(await status(`/api/me${query}`, { token: secrets.issue().secret }), 401)
  assert.equal(await status('/api/login', { body: { email: 'canary', password: token } }), 401)
  assert.equal(await status('/api/status', { method: 'GET', token: 'canary-secret' }), 401)
  assert.equal(await status('/api/canary'), 404)
  const { responses } = await sendRaw(port, 'canary\r\n\r\n')
  assert.equal(responses[0]?.status, 400)
  await suite.database().sql('alter table customers rename column password_hash to renamed')
  assert.equal(await status(`/api/login${query}`, { body: { email: EMAIL, password: PASSWORD } }), 500)
  await suite.database().sql('alter table customers rename column renamed to password_hash')
  return [token, token.slice(0, 12), 'canary', 'correct']
}

// PostgreSQL's error code for an undefined column.
const BUG = `error request.failed POST /api/login ${onSqlite ? 'SQLITE_ERROR' : '42703'}`
const MALFORMED = 'info token.malformed 2'
const REFUSALS = [
  'info request POST /api/me 401',
  'info request POST /api/me 401',
  'info request POST /api/login 401',
  'info request GET /api/status 401',
]

describe('the access log', () => {
  for (const [mode, expected] of [
    ['failures', [...REFUSALS, MALFORMED, BUG]],
    [
      'all',
      [
        ...REFUSALS,
        // A malformed token gets a response as well.
        'info request POST /api/me 401',
        'info request POST /api/me 401',
        'info request POST /api/login 200',
        'info request POST /api/me 200',
        'info request POST 404',
        'info request 400',
        'info request POST /api/login 500',
        MALFORMED,
        BUG,
      ],
    ],
    ['off', [BUG]],
  ] as const) {
    test(`with \`${mode}\` has a line for each matching response and no value that a caller sent`, async () => {
      const app = await startService(mode === 'failures' ? {} : { ACCESS_LOG: mode })
      const canaries = await askEverything(app)
      const lines = await app.end()
      const counts = lines.filter(({ event }) => event === 'token.malformed')
      const malformed = counts.reduce((sum, { count }) => sum + count, 0)
      const others = lines.filter(({ event }) => event !== 'token.malformed')
      assert.deepEqual(
        [...stableFields(others), ...(malformed === 0 ? [] : [`info token.malformed ${malformed}`])].sort(),
        [...expected].sort(),
      )
      for (const line of lines.filter(({ event }) => event === 'request')) {
        const names = ['level', 'time', 'request_id', 'method', 'route', 'status', 'event']
        if (mode === 'all') names.push('ms')
        assert.deepEqual(
          Object.keys(line).filter((name) => !names.includes(name)),
          [],
        )
        if (mode === 'all' && line.method !== undefined) assert.ok(line.ms >= 0 && line.ms < 60_000)
      }
      const text = JSON.stringify(lines)
      assert.deepEqual(
        canaries.filter((canary) => text.includes(canary)),
        [],
      )
    })
  }

  for (const LOG_LEVEL of ['warn', 'silent']) {
    test(`is hidden by the LOG_LEVEL \`${LOG_LEVEL}\``, async () => {
      const app = await startService({ ACCESS_LOG: 'all', LOG_LEVEL })
      assert.equal((await app.call('/api/me')).status, 401)
      app.service.child.kill('SIGTERM')
      assert.equal((await app.service.ended).stdout, '')
    })
  }

  const REQUESTS = 1000
  const ids = Array.from({ length: REQUESTS }, (_, number) => `request-${number}`)
  const createRequest = (id: string) => `GET /livez HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\n\r\n`
  const sendAll = (port: number) => {
    return sendRaw(port, ids.map(createRequest).join(''), { responses: REQUESTS, quietMs: 30_000 })
  }
  const idsIn = (stdout: string) =>
    parseLines(stdout).flatMap(({ event, request_id }) => (event === 'request' ? [request_id] : []))

  test('loses no line at SIGTERM', async () => {
    const { service, port } = await startService({ ACCESS_LOG: 'all' })
    assert.equal((await sendAll(port)).responses.length, REQUESTS)
    service.child.kill('SIGTERM')
    const { code, stdout } = await service.ended
    assert.equal(code, 0)
    assert.deepEqual(idsIn(stdout), ids)
  })

  test('loses no line at a second signal, which exits immediately', async () => {
    const { service, port } = await startService({ ACCESS_LOG: 'all', DRAIN_DELAY: '1h' })
    service.child.kill('SIGTERM')
    await service.until(/service\.stopping/)
    const requested = ids.slice(0, 20)
    // While it drains, it closes each connection after its response.
    for (const id of requested) await sendRaw(port, createRequest(id))
    service.child.kill('SIGINT')
    const { code, stdout } = await service.ended
    assert.equal(code, 1)
    assert.deepEqual(idsIn(stdout), requested)
  })

  test('does not block requests while its reader stalls, and reports the number of lost lines', async () => {
    const { service, port } = await startService({ ACCESS_LOG: 'all' })
    service.child.stdout?.pause()
    let requested = 0
    const beganMs = performance.now()
    for (let round = 0; round < 12; round++) {
      assert.equal((await sendAll(port)).responses.length, REQUESTS)
      requested += REQUESTS
    }
    const tookMs = performance.now() - beganMs
    service.child.stdout?.resume()
    await service.until(/access_log\.lost/)
    service.child.kill('SIGTERM')
    const { stdout } = await service.ended
    const lost = parseLines(stdout).reduce(
      (sum, { event, count }) => sum + (event === 'access_log.lost' ? count : 0),
      0,
    )
    assert.ok(lost > 0)
    assert.equal(idsIn(stdout).length + lost, requested)
    assert.ok(tookMs < 30_000, `${tookMs} ms`)
  })
})
