import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { AUDIT_EVENTS } from '../../src/application/audit-events.ts'
import { type CallOptions, callAt } from '../../src/testing/call.ts'
import { EMAIL, PASSWORD, programSuite } from '../support/program-suite.ts'
import { SERVICE_SECRET } from '../support/running-app.ts'
import { runLatchkey } from '../support/running-process.ts'

const suite = programSuite()
const secrets = tokenSecrets({ prefix: 'lk' })

interface Line {
  readonly event: string
  readonly [field: string]: unknown
}

function parseLines(text: string): readonly Line[] {
  const lines = text.split('\n')
  assert.equal(lines.pop(), '')
  return lines.map((line) => JSON.parse(line))
}

/** The names of the events logged so far. */
const seen = new Set<string>()

function parseAuditLines(text: string): readonly Line[] {
  const lines = parseLines(text).filter(({ audit }) => audit === true)
  for (const { event } of lines) seen.add(event)
  return lines
}
const inFile = (name: string) => readFileSync(join(suite.folder(), name), 'utf8')
/** The event and its own fields, without the fields of the log line. */
const eventFields = ({ level, time, audit, ...rest }: Line) => rest

const command = (args: readonly string[], env: Record<string, string>, input = '') =>
  runLatchkey(args, {
    cwd: suite.folder(),
    env: { ...suite.database().env, BCRYPT_COST: '10', ...env },
    input,
  })

async function customerId(email = EMAIL): Promise<string> {
  const sql = 'select id from customers where email = $1'
  return (await suite.database().sql<{ id: string }>(sql, [email]))[0]?.id ?? ''
}

/** Sends requests that cause each event. Returns the expected lines; every request has a unique id. */
async function causeEveryEvent(url: string) {
  const expected: unknown[] = []
  const of = { address: '127.0.0.1', customer_id: await customerId() }
  let requests = 0
  const call = (path: string, status: number, options: CallOptions, ...events: object[]) => {
    const request_id = `request-${++requests}`
    expected.push(...events.map((event) => ({ request_id, ...event })))
    const headers = { 'X-Request-Id': request_id }
    return callAt(url, path, { ...options, headers }).then((response) => {
      assert.equal(response.status, status, path)
      return response
    })
  }
  const login = (email: string, password: string) => ({ body: { email, password } })
  const tokenId = async () => {
    const rows = await suite
      .database()
      .sql<{ id: string }>(
        "select id from login_tokens where name = 'login' order by created_at desc limit 1",
      )
    return rows[0]?.id
  }
  const logIn = async (...before: object[]) => {
    const { body } = await call('/api/login', 200, login(EMAIL, PASSWORD), ...before)
    const request_id = `request-${requests}`
    const token = { ...of, token_id: await tokenId() }
    expected.push({ request_id, ...token, event: 'token.issued', token_name: 'login' })
    expected.push({ request_id, ...token, event: 'login.succeeded' })
    return { secret: body.token as string, token }
  }
  const failed = { event: 'login.failed', address: of.address }
  const denied = { event: 'token.denied', address: of.address }
  const service = { event: 'service.denied', address: of.address }

  const first = await logIn()
  const { secret, token } = await logIn({ ...of, event: 'token.revoked', reason: 'replaced', count: 1 })
  await call('/api/me', 200, { token: secret })
  await call('/api/me', 401, { token: first.secret }, { ...denied, ...first.token, reason: 'revoked' })
  await call('/api/me', 401, { token: secrets.issue().secret }, { ...denied, reason: 'unknown' })
  await call('/api/me', 401, { token: 'canary' })
  await call('/api/me', 401, {})
  await call('/api/login', 401, login(EMAIL, 'canary'), { ...failed, ...of, reason: 'password' })
  await call('/api/login', 401, login('canary!', secret), { ...failed, customer_id: null, reason: 'unknown' })
  await call('/api/status', 200, { method: 'GET', token: SERVICE_SECRET })
  await call('/api/status', 401, { method: 'GET', token: secret }, { ...service, reason: 'unknown' })
  await call('/api/status', 401, { method: 'GET' }, { ...service, reason: 'missing' })
  const passwords = { current_password: PASSWORD, new_password: PASSWORD }
  const changed = { event: 'customer.password_changed', ...of }
  await call('/api/password', 200, { token: secret, body: passwords }, changed)
  await call('/api/logout', 200, { token: secret }, { ...token, event: 'token.revoked', reason: 'logout' })
  return { expected, canaries: [secret, first.secret, 'canary', PASSWORD, EMAIL, SERVICE_SECRET, '$2'] }
}

const SERVICE = { SERVICE_TOKENS: `tests=${SERVICE_SECRET}` }

describe('the audit log of a service', () => {
  before(() => suite.database().sql('delete from login_tokens'))

  for (const [LOG_LEVEL, AUDIT_LOG] of [
    ['info', ''],
    ['fatal', ''],
    ['info', 'audit.jsonl'],
    ['silent', 'silent.jsonl'],
  ] as const) {
    test(`at the LOG_LEVEL \`${LOG_LEVEL}\` has every event ${AUDIT_LOG && 'in its file '}and no secret`, async () => {
      await suite.database().sql('delete from login_tokens')
      const { service, url } = await suite.start({
        ...SERVICE,
        LOG_LEVEL,
        ...(AUDIT_LOG === '' ? {} : { AUDIT_LOG }),
      })
      const { expected, canaries } = await causeEveryEvent(url)
      service.child.kill('SIGTERM')
      const { stdout } = await service.ended
      const text = AUDIT_LOG === '' ? stdout : inFile(AUDIT_LOG)
      assert.deepEqual(parseAuditLines(text).map(eventFields), expected)
      if (AUDIT_LOG !== '') {
        assert.deepEqual(parseAuditLines(stdout), [])
        assert.equal(parseLines(text).length, expected.length)
        assert.equal(statSync(join(suite.folder(), AUDIT_LOG)).mode & 0o777, 0o600)
      }
      assert.deepEqual(
        canaries.filter((canary) => (text + stdout).includes(canary)),
        [],
      )
    })
  }

  test('on standard output is hidden only by the LOG_LEVEL `silent`', async () => {
    const { service, url } = await suite.start({ LOG_LEVEL: 'silent' })
    await callAt(url, '/api/login', { body: { email: 'nobody@example.com', password: 'wrong' } })
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).stdout, '')
  })

  test('of three workers has or counts every event once in one file, in complete lines', async () => {
    const AUDIT_LOG = 'workers.jsonl'
    const { service, url } = await suite.start({ WORKERS: '3', TOKEN_CACHE_TTL: '0s', AUDIT_LOG })
    const ids = Array.from({ length: 300 }, (_, number) => `request-${number}`)
    for (let i = 0; i < ids.length; i += 30) {
      const statuses = ids.slice(i, i + 30).map(async (id) => {
        const token = secrets.issue().secret
        // On a busy machine the store may not respond in time. Such a request is not recorded.
        for (let attempt = 1; ; attempt++) {
          const headers = { 'X-Request-Id': id, Connection: 'close' }
          const { status } = await callAt(url, '/api/me', { token, headers })
          if (status !== 503 || attempt === 20) return status
        }
      })
      assert.deepEqual(new Set(await Promise.all(statuses)), new Set([401]))
    }
    service.child.kill('SIGTERM')
    await service.ended
    const lines = parseAuditLines(inFile(AUDIT_LOG))
    const recorded = lines.filter(({ event }) => event === 'token.denied').map(({ request_id }) => request_id)
    assert.equal(new Set(recorded).size, recorded.length)
    const counted = lines.reduce(
      (sum, { event, count }) => sum + (event === 'denials.left_out' ? Number(count) : 0),
      0,
    )
    assert.equal(recorded.length + counted, ids.length)
  })

  for (const WORKERS of ['1', '2']) {
    test(`refuses the start with WORKERS=${WORKERS} in one line when its file cannot be written`, async () => {
      const service = suite.launch({ WORKERS, AUDIT_LOG: 'none/audit.jsonl' })
      const { code, stdout, stderr } = await service.ended
      assert.equal(code, 1)
      assert.equal(stdout, '')
      assert.match(
        stderr.replace(/^latchkey: BCRYPT_COST.*\n/, ''),
        /^latchkey: AUDIT_LOG: none\/audit\.jsonl [^\n]*\n$/,
      )
    })
  }

  test('records the names of reloaded service tokens at every level', async () => {
    const env = {
      AUDIT_LOG: 'rotated.jsonl',
      LOG_LEVEL: 'silent',
      SERVICE_TOKENS: `monitor=${SERVICE_SECRET}`,
    }
    const { service } = await suite.start(env)
    service.child.kill('SIGHUP')
    while (inFile(env.AUDIT_LOG) === '') await sleep(10)
    service.child.kill('SIGTERM')
    const { code, stdout } = await service.ended
    assert.deepEqual([code, stdout], [0, ''])
    const lines = parseAuditLines(inFile(env.AUDIT_LOG))
    assert.deepEqual(lines.map(eventFields), [{ event: 'service.tokens_set', service_tokens: ['monitor'] }])
  })

  test('on a full disk causes 503 for requests with an audit event, logs the cause, and lets valid tokens pass', async () => {
    const { url: other, service: healthy } = await suite.start()
    const { body } = await callAt(other, '/api/login', { body: { email: EMAIL, password: PASSWORD } })
    healthy.child.kill('SIGTERM')
    await healthy.ended
    const { service, url } = await suite.start({ AUDIT_LOG: '/dev/full' })
    const status = async (path: string, options: CallOptions) => (await callAt(url, path, options)).status
    assert.equal(await status('/api/me', { token: body.token }), 200)
    assert.equal(await status('/api/me', {}), 401)
    for (const [path, options] of [
      ['/api/login', { body: { email: EMAIL, password: 'wrong' } }],
      ['/api/me', { token: secrets.issue().secret }],
      ['/api/status', { method: 'GET', token: 'wrong' }],
      ['/api/login', { body: { email: EMAIL, password: PASSWORD } }],
    ] as const) {
      assert.equal(await status(path, options), 503)
    }
    service.child.kill('SIGTERM')
    const { code, stdout } = await service.ended
    assert.equal(code, 0)
    const failures = parseLines(stdout).filter(({ event }) => event === 'request.failed')
    assert.deepEqual(
      failures.map(({ level, code }) => `${level} ${code}`),
      Array(4).fill('warn ENOSPC'),
    )
  })
})

describe('a command', () => {
  const email = 'bea@example.com'
  const events = (name: string) => parseAuditLines(inFile(name)).map(eventFields)

  after(() => suite.database().sql('delete from customers where email = $1', [email]))

  test('appends its events to the AUDIT_LOG file of a running service, each with its actor', async () => {
    const AUDIT_LOG = 'shared.jsonl'
    const { service, url } = await suite.start({ AUDIT_LOG })
    const run = async (args: readonly string[], input?: string) => {
      const { code, stdout } = await command(args, { AUDIT_LOG, SUDO_USER: 'ana' }, input)
      assert.equal(code, 0)
      assert.doesNotMatch(stdout, /"event"/)
    }
    const login = async (password: string) =>
      (await callAt(url, '/api/login', { body: { email, password } })).status
    await run(['customer', 'add', email, '--password-stdin'], 'canary 1 word')
    const customer_id = await customerId(email)
    assert.equal(await login('canary 1 word'), 200)
    await run(['customer', 'password', email, '--password-stdin'], 'canary 2 word')
    assert.equal(await login('canary 2 word'), 200)
    await run(['customer', 'disable', email])
    assert.equal(await login('canary 2 word'), 401)
    await run(['customer', 'enable', email])
    await run(['customer', 'show', email])
    await run(['customer', 'delete', email])
    service.child.kill('SIGTERM')
    await service.ended

    const by = (command: string) => ({
      os_user: userInfo().username,
      sudo_user: 'ana',
      host: hostname(),
      command: `customer ${command}`,
    })
    const revoked = (reason: string) => ({ event: 'token.revoked', customer_id, reason, count: 1 })
    const withoutRequests = events(AUDIT_LOG).map(
      ({ request_id, address, token_id, token_name, ...rest }) => rest,
    )
    const loggedIn = ['token.issued', 'login.succeeded'].map((event) => ({ event, customer_id }))
    assert.deepEqual(withoutRequests, [
      { ...by('add'), event: 'customer.added', customer_id },
      ...loggedIn,
      { ...by('password'), event: 'customer.password_set', customer_id },
      { ...by('password'), ...revoked('password_set') },
      ...loggedIn,
      { ...by('disable'), event: 'customer.disabled', customer_id },
      { ...by('disable'), ...revoked('disabled') },
      { event: 'login.failed', customer_id, reason: 'disabled' },
      { ...by('enable'), event: 'customer.enabled', customer_id },
      { ...by('delete'), event: 'customer.deleted', customer_id },
    ])
    assert.doesNotMatch(inFile(AUDIT_LOG), /canary|bea@|\$2/)
  })

  test('writes no events without AUDIT_LOG, so that standard output has only its result', async () => {
    const { stdout, stderr, code } = await command(
      ['customer', 'add', email, '--password-stdin'],
      { LOG_LEVEL: 'trace' },
      PASSWORD,
    )
    assert.deepEqual([code, stdout], [0, `Added ${email}.\n`], stderr)
  })

  test('is refused in one line and does nothing when the file cannot be written', async () => {
    const { stdout, stderr, code } = await command(['customer', 'disable', email], { AUDIT_LOG: '.' })
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^latchkey: AUDIT_LOG: \. cannot be written \(EISDIR\)[^\n]*\n$/)
    const [row] = await suite.database().sql('select disabled_at from customers where email = $1', [email])
    assert.deepEqual(row, { disabled_at: null })
  })

  test('that cannot write its event prints the cause and exits with 1', async () => {
    const { stdout, stderr, code } = await command(['customer', 'enable', email], { AUDIT_LOG: '/dev/full' })
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^latchkey: [^\n]*ENOSPC[^\n]*\n$/)
  })
})

test('every event of the table was logged by a real service or command', () => {
  // Other tests cause these: of the throttle, of the operator’s page, of verifiers, and of one-time tokens.
  const elsewhere = [
    ...['login.throttled', 'customer.viewed', 'customer.unlocked'],
    ...['verifier.connected', 'verifier.disconnected'],
    ...['one_time_token.issued', 'one_time_token.used', 'customer.password_reset'],
  ]
  const others = Object.keys(AUDIT_EVENTS).filter((event) => !elsewhere.includes(event))
  assert.deepEqual([...seen].sort(), others.sort())
})
