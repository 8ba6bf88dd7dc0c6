import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { route } from '../../src/adapters/http/routing/route.ts'
import { postgresDatabase } from '../../src/composition/postgres-database.ts'
import { createTestApp } from '../../src/testing/test-app.ts'
import { createTestDatabase } from '../support/database.ts'
import { aRequester } from '../support/idle-ports.ts'
import { temporaryFolder } from '../support/running-process.ts'

describe('The hooks of a service', () => {
  test('run once in this order, with the open database', async () => {
    const calls: string[] = []
    const call = (name: string) => (database: object) => {
      assert.ok('customers' in database)
      calls.push(name)
    }
    const app = await createTestApp({
      onStart: call('onStart'),
      onWorkerStart: call('onWorkerStart'),
      routes(_useCases, database) {
        call('routes')(database)
        return []
      },
      onWorkerStop: call('onWorkerStop'),
      onStop: call('onStop'),
    })
    assert.deepEqual(calls, ['onStart', 'onWorkerStart', 'routes'])
    await app.close()
    assert.deepEqual(calls.slice(3), ['onWorkerStop', 'onStop'])
  })

  test('that reject stop the start, and undo what was started before', async () => {
    const calls: string[] = []
    await assert.rejects(
      createTestApp({
        onStart: async () => {},
        onWorkerStart: () => Promise.reject(new Error('no cache server')),
        onStop: () => void calls.push('onStop'),
        onWorkerStop: () => void calls.push('onWorkerStop'),
      }),
      /no cache server/,
    )
    assert.deepEqual(calls, ['onStop'])
  })
})

test('The hook of a password change is called once for each change and reset, with the customer', async (t) => {
  const notified: string[] = []
  const app = await createTestApp({ onPasswordChange: ({ id }) => void notified.push(id) })
  t.after(() => app.close())
  const { id, email, password } = await app.customer()
  const { token } = (await app.call('/api/login', { body: { email, password } })).body
  const change = async (current: string) => {
    const body = { current_password: current, new_password: 'another horse 10' }
    return (await app.call('/api/password', { token: token as string, body })).status
  }
  assert.deepEqual([await change('wrong password'), await change(password)], [401, 200])
  assert.deepEqual(notified, [id])
  const { oneTimeTokens, passwords, deadline } = app.useCases
  const presented = { customerId: id, purpose: 'password-reset', ttlMs: 1000 }
  const { secret = '' } = (await oneTimeTokens.issue(presented, deadline())) ?? {}
  const reset = { secret, purpose: 'password-reset', newPassword: 'a third horse 11' }
  const from = aRequester()
  assert.ok(await passwords.reset(reset, deadline(), from))
  assert.equal(await passwords.reset(reset, deadline(), from), null)
  assert.deepEqual(notified, [id, id])
})

test('createTestApp runs on a real database, whose typed pool has a deadline for each call', async (t) => {
  const folder = await temporaryFolder()
  t.after(() => folder.remove())
  mkdirSync(join(folder.path, 'sql'))
  writeFileSync(join(folder.path, 'sql/0001_lamps.sql'), 'create table lamps (name text not null);\n')
  const database = await createTestDatabase({ migrated: false })
  t.after(() => database.drop())
  const app = await createTestApp({
    settings: { DATABASE_URL: database.url },
    database: postgresDatabase({
      migrations: [{ folder: join(folder.path, 'sql'), table: 'lamps_migrations', owner: 'the lamps' }],
    }),
    onStart: ({ pool }) =>
      pool.run(5000, async (session) => {
        await session.query({ name: 'add_lamp', text: 'insert into lamps values ($1)' }, ['desk'])
      }),
    routes: (_useCases, { pool }) => [
      route('GET /lamps', {
        auth: 'customer',
        async handle({ deadline }) {
          const { rows } = await deadline.run((timeoutMs) =>
            pool.run(timeoutMs, (session) =>
              session.query({ name: 'lamps', text: 'select name from lamps' }, []),
            ),
          )
          return { lamps: rows.map(({ name }) => name) }
        },
      }),
    ],
  })
  t.after(() => app.close())
  const ana = await app.as(await app.customer(), { abilities: [] })
  assert.deepEqual((await ana.call('/api/lamps', { method: 'GET' })).body, { success: true, lamps: ['desk'] })
})
