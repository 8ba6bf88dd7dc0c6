import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as v from 'valibot'
import { streamed } from '../../src/adapters/http/response/streamed-list.ts'
import type { Route } from '../../src/adapters/http/routing/declared-route.ts'
import { route } from '../../src/adapters/http/routing/route.ts'
import { DatabaseRefused } from '../../src/adapters/postgres/connection/database-refused.ts'
import { createTestDatabase } from '../support/database.ts'
import { type RunningApp, startApp } from '../support/running-app.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { openTcpProxy } from '../support/tcp-proxy.ts'

const ORDERS = v.object({
  orders: v.array(v.object({ total: v.pipe(v.number(), v.minValue(0)), note: v.string() })),
})
const WRONG = [{ total: 'canary-1', note: 'fine' }, { note: 'canary-2' }] as unknown

interface Order {
  readonly total: number
  readonly note: string
}

function askStock(): never {
  const refused = Object.assign(new Error('connect ECONNREFUSED stock:80'), { code: 'ECONNREFUSED' })
  throw new Error('the stock service said no', { cause: new Error('three tries', { cause: refused }) })
}

const routes = (): readonly Route[] => [
  route('GET /bug', { auth: 'none', handle: () => askStock() }),
  route('GET /later', { auth: 'none', handle: async () => Promise.resolve().then(askStock) }),
  route('GET /text', {
    auth: 'none',
    handle: () => {
      throw 'only a text'
    },
  }),
  route('GET /refused', {
    auth: 'none',
    handle: () => {
      throw new DatabaseRefused('The table of orders is missing.')
    },
  }),
  route('GET /orders', { auth: 'none', returns: ORDERS, handle: () => ({ orders: WRONG as Order[] }) }),
  route('GET /streamed', {
    auth: 'none',
    returns: ORDERS,
    handle: () => streamed('orders', WRONG as Order[]),
  }),
]

let app: RunningApp
let quiet: RunningApp
before(async () => {
  app = await startApp({ routes })
  quiet = await startApp({ routes, database: app.database, env: { LOG_ERROR_MESSAGES: 'off' } })
})
after(async () => {
  await quiet.service.stop({ delay: false })
  await app.close()
})

/** Calls `path` and returns the response body and the one log line with its request id. */
async function callAndFindLogLine(
  path: string,
  { url, logLines }: Pick<RunningApp, 'url' | 'logLines'> = app,
) {
  const id = `find-${path.slice(1)}-${logLines.length}`
  const response = await fetch(`${url}/api${path}`, { headers: { 'X-Request-Id': id } })
  const body = await response.text()
  const [line = '{}', ...others] = logLines.filter((text) => text.includes(id))
  assert.deepEqual(others, [])
  const { event, ...fields } = JSON.parse(line)
  assert.equal(event, 'request.failed')
  return { body, line, fields }
}

describe('A bug', () => {
  for (const path of ['/bug', '/later'])
    test(`is logged with its message, its causes and the frames of the handler: ${path}`, async () => {
      const { body, fields } = await callAndFindLogLine(path)
      assert.doesNotMatch(body, /stock|tries/)
      assert.deepEqual(
        [fields.level, fields.error, fields.message],
        ['error', 'Error', 'the stock service said no'],
      )
      assert.match(fields.stack, /^ {4}at askStock \(.*errors\.test\.ts/)
      assert.deepEqual(
        fields.causes.map(({ message, code }: Record<string, unknown>) => [message, code]),
        [
          ['three tries', undefined],
          ['connect ECONNREFUSED stock:80', 'ECONNREFUSED'],
        ],
      )
    })

  test('is logged with the thrown text if it is not an Error', async () => {
    assert.equal((await callAndFindLogLine('/text')).fields.message, 'only a text')
  })

  test('is logged without its message and causes with LOG_ERROR_MESSAGES=off', async () => {
    const { line, fields } = await callAndFindLogLine('/bug', quiet)
    assert.match(fields.stack, /^ {4}at askStock/)
    assert.doesNotMatch(line, /said no|tries|ECONNREFUSED|"message"|"causes"/)
    assert.doesNotMatch((await callAndFindLogLine('/text', quiet)).line, /only a text/)
  })

  test('is logged with the sentence of an operator error under every setting', async () => {
    for (const each of [app, quiet])
      assert.equal(
        (await callAndFindLogLine('/refused', each)).fields.message,
        'The table of orders is missing.',
      )
  })

  test('in a response is logged with the mismatched fields, without values, under every setting', async () => {
    for (const each of [app, quiet]) {
      const { body, line, fields } = await callAndFindLogLine('/orders', each)
      assert.match(body, /"internal"/)
      assert.equal(
        fields.message,
        "The response does not fit the route's returns: orders.0.total: expected number; " +
          'orders.1.total: expected "total", is missing',
      )
      assert.match(
        (await callAndFindLogLine('/streamed', each)).fields.message,
        /returns: total: expected number$/,
      )
      assert.doesNotMatch(line, /canary/)
    }
  })

  test('in a statement is logged with the database’s message, without values', {
    skip: postgresAlone,
  }, async () => {
    await app.database.sql('alter table customers rename column password_hash to gone')
    const response = await app.call('/api/login', {
      body: { email: 'canary@example.com', password: 'canary' },
    })
    await app.database.sql('alter table customers rename column gone to password_hash')
    assert.equal(response.status, 500)
    const line = app.logLines.find((text) => text.includes('42703')) ?? ''
    assert.match(line, /"message":"column .*password_hash.* does not exist"/)
    assert.doesNotMatch(line, /canary|select /)
  })
})

test('An outage of the database is logged with its reason', { skip: postgresAlone }, async (t) => {
  const database = await createTestDatabase()
  const proxy = await openTcpProxy(database.url)
  const env = { DATABASE_URL: proxy.url, TOKEN_CACHE_TTL: '0s' }
  const away = await startApp({ database, env })
  t.after(async () => {
    await away.close()
    await database.drop()
  })
  await proxy.close()
  const reasons = /ECONNREFUSED|Connection terminated|The database did not respond/
  const { status } = await away.call('/api/login', { body: { email: 'a@example.com', password: 'x' } })
  assert.equal(status, 503)
  const line = away.logLines.find((text) => text.includes('"request.failed"')) ?? '{}'
  assert.match(JSON.parse(line).message ?? JSON.stringify(JSON.parse(line).causes), reasons)
})
