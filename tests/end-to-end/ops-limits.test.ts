import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PASSWORD, type RunningApp, SERVICE_SECRET, startApp } from '../support/running-app.ts'
import { postgresAlone } from '../support/sqlite.ts'

const HEADERS = { 'X-Requested-With': 'ops-page', 'Sec-Fetch-Site': 'same-origin' }
const LIMIT = 3

let app: RunningApp
before(async () => {
  app = await startApp({
    env: {
      OPS: 'on',
      SERVICE_TOKENS: `oncall[ops]=${SERVICE_SECRET}`,
      LOGIN_LIMIT_ACCOUNT: `${LIMIT}/15m`,
      TRUST_PROXY: '1',
    },
  })
})
after(() => app?.close())

const login = (email: string, password: string, address: string) =>
  app.call('/api/login', { body: { email, password }, headers: { 'X-Forwarded-For': address } })
const ask = (path: string, body: object) =>
  app.call(`/ops/${path}`, { token: SERVICE_SECRET, body, headers: HEADERS })

test('an operator sees the failed logins that count for an account, and unlocks it', {
  skip: postgresAlone,
}, async () => {
  const { id, email } = await app.addCustomer()
  const limits = async () => (await ask('customer', { search: id })).body.login_limits
  assert.deepEqual(await limits(), { failures: 0, locked_addresses: 0, guesses_until: null })
  for (const [address, times] of [
    ['192.0.2.1', LIMIT],
    ['192.0.2.2', 1],
  ] as const)
    for (let n = 0; n < times; n++) assert.equal((await login(email, 'wrong', address)).status, 401)
  assert.equal((await login(email, PASSWORD, '192.0.2.1')).status, 429)
  assert.deepEqual(await limits(), { failures: LIMIT + 1, locked_addresses: 1, guesses_until: null })

  const { body, headers } = await ask('unlock', { email })
  assert.equal(body.unlocked, true)
  assert.deepEqual(await limits(), { failures: 0, locked_addresses: 0, guesses_until: null })
  assert.equal((await login(email, PASSWORD, '192.0.2.1')).status, 200)
  const unlocked = app.auditLines
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event === 'customer.unlocked')
  assert.deepEqual(
    unlocked.map(({ service, customer_id, request_id }) => [service, customer_id, request_id]),
    [['oncall', id, headers.get('x-request-id')]],
  )
  assert.deepEqual((await ask('unlock', { email: 'nobody@example.com' })).body.unlocked, false)
})

test('an operator sees that guesses from new addresses are refused, and unlocks the account', {
  skip: postgresAlone,
}, async () => {
  const { id, email } = await app.addCustomer()
  let refused = 0
  for (let n = 1; refused === 0 && n < 60; n++)
    if ((await login(email, 'wrong', `198.51.100.${n}`)).status === 429) refused = n
  assert.ok(refused > LIMIT, 'the account was never refused')
  const { guesses_until } = (await ask('customer', { search: email })).body.login_limits
  assert.ok(Date.parse(guesses_until) > Date.now() - 1000, guesses_until)
  await ask('unlock', { email })
  assert.equal((await login(email, PASSWORD, '203.0.113.1')).status, 200)
  assert.equal((await ask('customer', { search: id })).body.login_limits.guesses_until, null)
})
