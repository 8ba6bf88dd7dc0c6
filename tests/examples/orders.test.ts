import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Called, callAt } from '../../src/testing/call.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  onPackage,
  ownTests,
  type PreparedExample,
  prepareExample,
  typeProblems,
  where,
} from '../support/example.ts'
import { PASSWORD } from '../support/running-app.ts'
import { type RunningProcess, startProcess, UNTHROTTLED } from '../support/running-process.ts'

describe(`The orders ${where}`, () => {
  let prepared: PreparedExample
  let database: TestDatabase
  let service: RunningProcess
  let url: string
  before(async () => {
    prepared = await prepareExample('orders')
    database = await createTestDatabase({ migrated: false })
  })
  after(async () => {
    service?.child.kill('SIGKILL')
    await service?.ended
    await database?.drop()
    prepared?.remove()
  })

  const node = (args: readonly string[], env: Record<string, string> = {}, input = '') =>
    startProcess(process.execPath, args, { cwd: prepared.folder, env, input })
  const program = (args: readonly string[], input = '') =>
    node(
      ['--import', 'tsx', 'main.ts', ...args],
      { DATABASE_URL: database.url, PORT: '0', BCRYPT_COST: '10', ACCESS_LOG: 'off', ...UNTHROTTLED },
      input,
    )

  /** Creates a token with these abilities and returns a function that calls the service with it. */
  async function createCaller(email: string, abilities: readonly string[]) {
    const name = abilities.join('+') || 'nothing'
    const flags = abilities.flatMap((ability) => ['--ability', ability])
    const { code, stdout, stderr } = await program(['token', 'create', email, '--name', name, ...flags]).ended
    assert.equal(code, 0, stderr)
    const token = stdout.trim()
    return (method: string, path: string, body?: unknown) =>
      callAt(url, path, { method, token, ...(body === undefined ? {} : { body }) })
  }

  // In the repository, tsc already checks these types.
  if (onPackage)
    test('compile with the types of the package', async () => assert.equal(await typeProblems(prepared), ''))

  test('need a database and report its absence in one line', async () => {
    const { code, stderr } = await node(['--import', 'tsx', 'main.ts']).ended
    assert.equal(code, 1)
    assert.ok(!existsSync(join(prepared.folder, 'data')), 'a database was created')
    assert.match(stderr, /^orders: Set DATABASE_URL: the orders are stored there\.\n$/)
  })

  test('migrate once with the service, even if several instances start in parallel', async () => {
    assert.match((await program(['migrate', '--check']).ended).stdout, /^0001_orders$/m)
    const all = await Promise.all(Array.from({ length: 3 }, () => program(['migrate']).ended))
    assert.deepEqual(
      all.map(({ code, stderr }) => [code, stderr]),
      Array(3).fill([0, '']),
    )
    const applied = all.flatMap(({ stdout }) => stdout.match(/^Applied 0001_\w+/gm) ?? [])
    assert.deepEqual(applied.sort(), ['Applied 0001_customers_and_login_tokens', 'Applied 0001_orders'])
    const { code, stdout } = await program(['migrate', '--check']).ended
    assert.deepEqual([code, stdout], [0, 'The schema is current.\n'])
  })

  test('pass the contracts of their store and their routes', async () => {
    assert.ok((await ownTests(prepared, { TEST_DATABASE_URL: database.url })) > 90)
  })

  test('add their routes to those of the service', async () => {
    service = program(['serve'])
    url = (await service.until(/running at (\S+)/))[1] as string
    const { paths } = (await callAt(url, '/openapi.json', { method: 'GET' })).body
    assert.deepEqual(Object.keys(paths['/api/orders/{id}']).sort(), ['delete', 'get', 'patch'])
    assert.deepEqual(paths['/api/orders'].post['x-abilities'], ['orders:write'])
    for (const email of ['ana@example.com', 'bea@example.com']) {
      const { code, stderr } = await program(['customer', 'add', email, '--password-stdin'], PASSWORD).ended
      assert.equal(code, 0, stderr)
    }
  })

  test('are created, changed and deleted, and visible only to their owner', async () => {
    const login = await callAt(url, '/api/login', {
      body: { email: 'ana@example.com', password: PASSWORD },
    })
    const ana = (method: string, path: string, body?: unknown) =>
      callAt(url, path, { method, token: login.body.token, ...(body === undefined ? {} : { body }) })
    const bea = await createCaller('bea@example.com', ['orders:*'])

    const placed = await ana('POST', '/api/orders', { sku: 'A-100', quantity: 2, note: `O'Hara 🦊` })
    assert.equal(placed.status, 201)
    const { order } = placed.body
    const path = `/api/orders/${order.id}`
    for (const [method, body] of [['GET'], ['PATCH', { quantity: 9 }], ['DELETE']] as const) {
      assert.equal((await bea(method, path, body)).status, 404)
    }
    assert.deepEqual((await bea('GET', '/api/orders')).body.orders, [])
    assert.deepEqual((await ana('GET', path)).body, { success: true, order })
    assert.deepEqual((await ana('PATCH', path, { quantity: 3 })).body.order, { ...order, quantity: 3 })
    assert.deepEqual((await ana('GET', '/api/orders/export')).body.orders, [{ ...order, quantity: 3 }])
    assert.equal((await ana('DELETE', path)).status, 204)
    for (const method of ['DELETE', 'GET']) assert.equal((await ana(method, path)).status, 404)

    await ana('POST', '/api/logout')
    assert.equal((await ana('GET', '/api/orders')).status, 401)
  })

  test('are readable and writable only with the ability', async () => {
    const [reader, writer, neither] = await Promise.all(
      [['orders:read'], ['orders:write'], []].map((abilities) => createCaller('ana@example.com', abilities)),
    )
    const status = async (call: typeof reader, method: string) =>
      (await call?.(method, '/api/orders', method === 'POST' ? { sku: 'A', quantity: 1 } : undefined))?.status
    assert.deepEqual([await status(reader, 'GET'), await status(reader, 'POST')], [200, 403])
    assert.deepEqual([await status(writer, 'GET'), await status(writer, 'POST')], [403, 201])
    assert.deepEqual([await status(neither, 'GET'), await status(neither, 'POST')], [403, 403])
  })

  test('are listed page by page, each once, while orders are added and deleted', async () => {
    await database.sql('delete from orders')
    const [ana, bea] = await Promise.all(
      ['ana@example.com', 'bea@example.com'].map((email) =>
        createCaller(email, ['orders:read', 'orders:write']),
      ),
    )
    if (ana === undefined || bea === undefined) throw new Error('no callers')
    const place = async (call: typeof ana) =>
      (await call('POST', '/api/orders', { sku: 'A', quantity: 1 })).body.order as { id: string }
    const there: string[] = []
    for (let i = 0; i < 25; i++) {
      const batch = await Promise.all(Array.from({ length: 10 }, () => place(ana)))
      there.push(...batch.map(({ id }) => id))
    }

    const shown: { id: string; placed_at: string }[] = []
    let pages = 0
    for (let cursor = ''; ; ) {
      const listing: Promise<Called> = ana('GET', `/api/orders?limit=17${cursor}`)
      const page: Called = (await Promise.all([listing, place(bea)]))[0]
      assert.equal(page.status, 200)
      shown.push(...page.body.orders)
      pages++
      // Adds an order, and deletes the order at the cursor of the next page.
      await place(ana)
      await ana('DELETE', `/api/orders/${shown.at(-1)?.id}`)
      if (page.body.next === null) break
      cursor = `&after=${page.body.next}`
    }
    assert.equal(pages, Math.ceil(250 / 17))
    assert.deepEqual(shown.map(({ id }) => id).sort(), there.sort())
    const newestFirst = shown.toSorted(
      (a, b) => b.placed_at.localeCompare(a.placed_at) || (a.id < b.id ? 1 : -1),
    )
    assert.deepEqual(shown, newestFirst)
  })

  test('refuse hostile cursors, ids and bodies', async () => {
    const ana = await createCaller('ana@example.com', ['orders:read', 'orders:write', 'hostile'])
    for (const cursor of ['', 'x', `'%20or%201=1`, '%00', '%FF', 'f'.repeat(32), 'A'.repeat(9000)]) {
      assert.equal((await ana('GET', `/api/orders?after=${cursor}`)).status, 422, cursor)
    }
    // A well-formed cursor of no order still lists only the caller's orders.
    assert.equal((await ana('GET', `/api/orders?after=${'A'.repeat(32)}`)).status, 200)
    for (const id of ['1', `';--`, '%F0%9F%A6%8A', 'x'.repeat(9000)]) {
      for (const method of ['GET', 'DELETE']) {
        assert.equal((await ana(method, `/api/orders/${id}`)).status, 422, id)
      }
    }
    assert.equal((await ana('GET', '/api/orders/%00')).status, 400)
    for (const note of ['\u0000', '\ud800', 'x'.repeat(501)]) {
      assert.equal((await ana('POST', '/api/orders', { sku: 'A', quantity: 1, note })).status, 422)
    }
  })

  test('cause no errors in the log and leave no connection that delays the exit', async () => {
    const beganMs = performance.now()
    service.child.kill('SIGTERM')
    const { code, stdout } = await service.ended
    assert.equal(code, 0)
    // An idle connection would stay open for a minute.
    assert.ok(performance.now() - beganMs < 40_000)
    assert.doesNotMatch(stdout, /"level":"(warn|error|fatal)"/)
  })
})
