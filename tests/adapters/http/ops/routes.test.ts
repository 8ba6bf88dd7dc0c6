import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { SameOriginRequired } from '../../../../src/adapters/http/errors.ts'
import { requireSameOrigin } from '../../../../src/adapters/http/ops-page/same-origin.ts'
import { COLUMNS } from '../../../../src/adapters/ops/columns.ts'
import type { SampleTable } from '../../../../src/adapters/ops/samples.ts'
import type { Called } from '../../../../src/testing/call.ts'
import { PASSWORD, type RunningApp, SERVICE_SECRET, startApp } from '../../../support/running-app.ts'

const ID = '3f2b1c9e-5d47-4a86-9c1d-0f6e8a7b2c34'
const EMAIL = 'needle@example.com'
const MONITOR_SECRET = `monitor-${SERVICE_SECRET}`
const FILES = ['/ops', '/ops/page.css', '/ops/page.js', '/ops/look.css', '/ops/uplot.js', '/ops/uplot.css']
const OWN = { 'X-Requested-With': 'ops-page' }
const FROM_HERE = { ...OWN, 'Sec-Fetch-Site': 'same-origin' }

let app: RunningApp
let tokens: { readonly login: string; readonly bots: readonly string[]; readonly other: string }
let customerId: string

before(async () => {
  app = await startApp({
    env: {
      OPS: 'on',
      APP_VERSION: '1.2.3',
      SERVICE_TOKENS: `tests[ops metrics]=${SERVICE_SECRET},monitor=${MONITOR_SECRET}`,
    },
    samplingTimes: { everyMs: 25, keep: 400 },
  })
  customerId = (await app.addCustomer({ email: EMAIL })).id
  const { id } = await app.addCustomer()
  tokens = {
    login: await app.login(EMAIL),
    bots: [await createBot(customerId), await createBot(customerId)],
    other: await createBot(id),
  }
})
after(() => app.close())

async function createBot(customerId: string): Promise<string> {
  const { useCases } = app.service
  const token = { customerId, name: 'bot', abilities: ['orders:read'], expiresAtMs: null }
  const created = await useCases.tokens.create(token, useCases.deadline())
  assert.ok(created)
  return created.secret
}

function ask(
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = FROM_HERE,
): Promise<Called> {
  return app.call(`/ops/${path}`, { token: SERVICE_SECRET, body, headers })
}

const fetchStatus = async (token: string) => (await app.call('/api/me', { token })).status
const find = async () => (await ask('customer', { search: ` ${EMAIL.toUpperCase()} ` })).body

describe('the operator’s page', () => {
  test('has public files, with the content security policy of the documentation', async () => {
    const fetchPolicy = async (path: string) =>
      (await fetch(app.url + path)).headers.get('content-security-policy')
    const policy = await fetchPolicy('/docs')
    for (const path of FILES) assert.equal(await fetchPolicy(path), policy, path)
    assert.match(policy ?? '', /default-src 'none'.*require-trusted-types-for 'script'/)
  })

  test('returns no data without a service token, also not to a customer', async () => {
    for (const token of [null, tokens.login, `${SERVICE_SECRET}x`]) {
      const responses = [
        await app.call('/ops/live', { method: 'GET', token }),
        await app.call('/ops/customer', { token, body: { search: EMAIL }, headers: FROM_HERE }),
        await app.call('/ops/revoke', { token, body: { customer_id: ID, token_id: ID }, headers: FROM_HERE }),
        await app.call('/ops/revoke-all', { token, body: { customer_id: customerId }, headers: FROM_HERE }),
      ]
      for (const { status, body } of responses)
        assert.deepEqual([status, body.reason], [401, 'invalid_service_token'])
    }
    assert.equal(await fetchStatus(tokens.login), 200)
  })

  test('returns no data to a service token without the scope ops, and names the scope', async () => {
    const headers = FROM_HERE
    const token = MONITOR_SECRET
    for (const response of [
      await app.call('/ops/live', { method: 'GET', token }),
      await app.call('/ops/customer', { token, body: { search: EMAIL }, headers }),
      await app.call('/ops/revoke', { token, body: { customer_id: ID, token_id: ID }, headers }),
      await app.call('/ops/revoke-all', { token, body: { customer_id: customerId }, headers }),
    ]) {
      const { status, body } = response
      assert.deepEqual([status, body.reason], [403, 'insufficient_scope'])
      assert.equal(body.error, 'The service token lacks the scope "ops".')
    }
    assert.equal(await fetchStatus(tokens.login), 200)
  })

  for (const [from, headers] of [
    ['no header of the browser', OWN],
    ['no header of the page', { 'Sec-Fetch-Site': 'same-origin' }],
    ['a page of the same site', { ...OWN, 'Sec-Fetch-Site': 'same-site' }],
    ['a page of another site', { ...OWN, 'Sec-Fetch-Site': 'cross-site' }],
    ['no page', { ...OWN, 'Sec-Fetch-Site': 'none' }],
    ['another origin', { ...OWN, Origin: 'http://evil.example' }],
    ['another port', { ...OWN, Origin: 'http://127.0.0.1:1' }],
    ['an opaque origin', { ...OWN, Origin: 'null' }],
    ['a page with another X-Requested-With', { 'Sec-Fetch-Site': 'same-origin', 'X-Requested-With': 'x' }],
  ] as const) {
    test(`refuses a request from ${from}`, async () => {
      for (const [path, body] of [
        ['customer', { search: EMAIL }],
        ['revoke-all', { customer_id: customerId }],
      ] as const) {
        const response = await ask(path, body, headers)
        assert.deepEqual([response.status, response.body.reason], [403, 'same_origin_required'])
      }
      assert.equal(await fetchStatus(tokens.login), 200)
    })
  }

  test('accepts a request of its own origin without Sec-Fetch-Site', async () => {
    const { status } = await ask('customer', { search: EMAIL }, { ...OWN, Origin: app.url })
    assert.equal(status, 200)
  })

  test('finds a customer by e-mail, with tokens, active ones first, and without secrets or digests', async () => {
    const { customer, tokens: found, more } = await find()
    assert.deepEqual([customer.id, customer.email, customer.disabled_at, more], [customerId, EMAIL, null, 0])
    const names = ['abilities', 'created_at', 'expires_at', 'id', 'last_used_at', 'name', 'state']
    assert.deepEqual(Object.keys(found[0]).sort(), names)
    assert.deepEqual(found.map(({ name }: { name: string }) => name).sort(), ['bot', 'bot', 'login'])
    const text = JSON.stringify(found)
    for (const secret of [tokens.login, ...tokens.bots]) assert.ok(!text.includes(secret.slice(3, 20)))
    assert.doesNotMatch(text, /[0-9a-f]{64}/)

    assert.deepEqual((await ask('customer', { search: 'unknown@example.com' })).body.customer, null)
    for (const search of ['', 'a\u0000@example.com', null])
      assert.equal((await ask('customer', { search })).status, 422)
    assert.equal((await ask('revoke', { customer_id: customerId, token_id: "' or 1=1" })).status, 422)
    // By the id of the customer, and of a token in either case.
    for (const search of [customerId, found[0].id, found[0].id.toUpperCase()])
      assert.equal((await ask('customer', { search })).body.customer.id, customerId)
    assert.equal((await ask('customer', { search: ID })).body.customer, null)
    // Only `revoke-all` revokes all tokens.
    assert.equal((await ask('revoke', { customer_id: customerId })).status, 422)
  })

  test('shows the sessions of a customer with their devices, which end with a logout', async () => {
    const { email } = await app.addCustomer()
    const { body } = await app.call('/api/login', { body: { email, password: PASSWORD, device: 'a phone' } })
    const { sessions, tokens: found } = (await ask('customer', { search: email })).body
    const { id, device, last_used_at } = sessions[0]
    assert.deepEqual([sessions.length, id, device, last_used_at], [1, found[0].id, 'a phone', null])
    const names = ['created_at', 'device', 'expires_at', 'id', 'last_used_at']
    assert.deepEqual(Object.keys(sessions[0]).sort(), names)
    await app.call('/api/logout', { token: body.token })
    assert.deepEqual((await ask('customer', { search: email })).body.sessions, [])
  })

  test('revokes one token by its id, then all of the customer, and audits the service token', async () => {
    assert.equal(await fetchStatus(tokens.bots[0] as string), 200)
    const { id } = (await find()).tokens.filter(({ name }: { name: string }) => name === 'bot').at(-1)
    const { body, headers } = await ask('revoke', { customer_id: customerId, token_id: id })
    assert.equal(body.revoked, 1)
    assert.deepEqual(await Promise.all(tokens.bots.map(fetchStatus)), [401, 200])
    const { tokens: left } = await find()
    assert.deepEqual([left.at(-1).id, left.at(-1).state], [id, 'revoked'])
    assert.equal((await ask('revoke', { customer_id: customerId, token_id: id })).body.revoked, 0)
    // The token of another customer.
    assert.equal((await ask('revoke', { customer_id: ID, token_id: left[0].id })).body.revoked, 0)

    assert.equal((await ask('revoke-all', { customer_id: customerId })).body.revoked, 2)
    const all = await Promise.all([tokens.login, ...tokens.bots, tokens.other].map(fetchStatus))
    assert.deepEqual(all, [401, 401, 401, 200])

    const events = app.auditLines
      .map((line) => JSON.parse(line))
      .filter(({ reason }) => reason === 'operator')
    const common = { event: 'token.revoked', service: 'tests', customer_id: customerId, address: '127.0.0.1' }
    for (const [at, more] of [{ token_id: id, count: 1 }, { count: 2 }].entries())
      for (const [name, value] of Object.entries({ ...common, ...more }))
        assert.equal(events[at][name], value, name)
    assert.equal(events[0].request_id, headers.get('x-request-id'))
    assert.deepEqual([events.length, events[1].token_id], [2, undefined])
  })

  test('audits each view with the service token and the customer, also a search that finds none', async () => {
    const from = app.auditLines.length
    const { headers } = await ask('customer', { search: EMAIL })
    await ask('customer', { search: 'nobody@example.com' })
    const events = app.auditLines.slice(from).map((line) => JSON.parse(line))
    const common = { event: 'customer.viewed', service: 'tests', address: '127.0.0.1' }
    assert.deepEqual(
      events.map(({ event, service, address, customer_id }) => ({ event, service, address, customer_id })),
      [
        { ...common, customer_id: customerId },
        { ...common, customer_id: null },
      ],
    )
    assert.equal(events[0].request_id, headers.get('x-request-id'))
  })

  test('counts all active tokens, also when the list is cut', async () => {
    const { id, email } = await app.addCustomer()
    await app.database.sql(
      `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
       select gen_random_uuid(), $1, 'bot', sha256(n::text::bytea), '{}', now() from generate_series(1, 1001) as n`,
      [id],
    )
    const { active, tokens: shown, more } = (await ask('customer', { search: email })).body
    assert.deepEqual([active, shown.length, more], [1001, 200, 801])
  })

  test('samples every metric of the service, without the requests of the page itself', async () => {
    const live = async () => (await app.call('/ops/live', { method: 'GET', token: SERVICE_SECRET })).body
    const { samples, instance, events, ...rest } = await live()
    const fixed = { success: true, version: '1.2.3', every_ms: 25, keep: 400, workers: 1 }
    assert.deepEqual(rest, { ...fixed, other_instances: 0, verifiers: [], problems: [] })
    assert.equal(events[0].title, 'Started, version 1.2.3')
    assert.match(instance, /^\S+:\d+$/)
    // By now, the page and customers have sent many requests.
    const table: SampleTable = samples
    // The audit log of this service has no file, and so no disk.
    const names = Object.keys(COLUMNS).filter((name) => name !== 'disk_free_share')
    for (const name of names as (keyof typeof COLUMNS)[]) {
      assert.equal(table[name].length, table.at_ms.length)
      assert.ok(
        table[name].some((value) => value !== null),
        name,
      )
    }
    for (const name of [
      'requests_succeeded',
      'requests_refused',
      'logins_succeeded',
      'validations_cache',
    ] as const)
      assert.ok(
        table[name].some((value) => (value ?? 0) > 0),
        name,
      )
    const taken = table.at_ms.at(-1) ?? 0
    let later = table
    do later = (await live()).samples
    while (later.at_ms.filter((ms) => ms > taken + 100).length < 3)
    const quiet = later.requests_succeeded.filter((_, at) => (later.at_ms[at] ?? 0) > taken + 100)
    assert.deepEqual([...new Set(quiet)], [0])
  })

  test('leaves no e-mail in any log', () => {
    const lines = [...app.logLines, ...app.auditLines].join('')
    assert.ok(lines.includes(customerId))
    assert.ok(!lines.toLowerCase().includes('needle'))
  })

  test('is not in the OpenAPI document', async () => {
    const { body } = await app.call('/openapi.json', { method: 'GET' })
    assert.deepEqual(
      Object.keys(body.paths).filter((path) => path.startsWith('/ops')),
      [],
    )
  })

  test('returns 404 unless OPS is on', async () => {
    const silent = await startApp({ database: app.database })
    try {
      for (const path of [
        ...FILES,
        '/ops/live',
        '/ops/customer',
        '/ops/revoke',
        '/ops/revoke-all',
        '/ops/unlock',
      ])
        for (const method of ['GET', 'POST'])
          assert.equal(
            (await silent.call(path, { method, token: SERVICE_SECRET, headers: FROM_HERE })).status,
            404,
          )
    } finally {
      await silent.close()
    }
  })
})

test('requireSameOrigin also accepts the origin of PUBLIC_URL, because a proxy may change the host', () => {
  const from = (origin: string) => () =>
    requireSameOrigin(
      { 'x-requested-with': 'ops-page', host: '127.0.0.1:3000', origin },
      'https://api.example.com/shop',
    )
  assert.doesNotThrow(from('https://api.example.com'))
  assert.doesNotThrow(from('http://127.0.0.1:3000'))
  for (const other of [
    'http://api.example.com',
    'https://example.com',
    'https://api.example.com:8443',
    'null',
  ])
    assert.throws(from(other), SameOriginRequired)
})
