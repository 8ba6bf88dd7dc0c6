import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client } from 'pg'
import { route } from '../../src/adapters/http/routing/route.ts'
import { type RunningApp, startApp } from '../support/running-app.ts'
import { runLatchkey, temporaryFolder } from '../support/running-process.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

let app: RunningApp
let folder: Awaited<ReturnType<typeof temporaryFolder>>
before(async () => {
  folder = await temporaryFolder()
  app = await startApp({
    routes: () =>
      (['read', 'write'] as const).map((what) =>
        route(`GET /orders/${what}`, { auth: 'customer', abilities: [`orders:${what}`], handle: () => ({}) }),
      ),
  })
})
after(async () => {
  await app.close()
  folder.remove()
})

const latchkey = (...args: string[]) =>
  runLatchkey(args, { cwd: folder.path, env: { ...app.database.env, BCRYPT_COST: '10' } })
const get = async (path: string, token: string) => {
  const { status, body } = await app.call(path, { method: 'GET', token })
  return status === 200 ? 200 : `${status} ${body.reason}`
}
const me = async (token: string) => (await app.call('/api/me', { token })).status

/** Creates a token with the command and returns its secret. */
async function createToken(email: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await latchkey('token', 'create', email, ...args)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^lk_[0-9A-Za-z]{46}\n$/)
  return stdout.trimEnd()
}

async function findLastUse(name: string): Promise<Date | null> {
  const [row] = await app.database.sql<{ last_used_at: Date | null }>(
    'select last_used_at from login_tokens where name = $1',
    [name],
  )
  return row?.last_used_at ?? null
}

describe('a token created by a command', () => {
  // Public case 040, case 041
  test('has only its abilities, survives logins and logouts, and cannot log out', async () => {
    const { email } = await app.addCustomer()
    const bot = await createToken(email, '--name', 'reader', '--ability', 'orders:read', '--expires', '90d')
    const mute = await createToken(email, '--name', 'mute')
    assert.equal(await get('/api/orders/read', bot), 200)
    assert.equal(await get('/api/orders/write', bot), '403 insufficient_scope')
    assert.equal(await get('/api/orders/read', mute), '403 insufficient_scope')
    const { body } = await app.call('/api/me', { token: bot })
    assert.deepEqual([body.token.name, body.token.abilities], ['reader', ['orders:read']])

    assert.equal((await app.call('/api/logout', { token: await app.login(email) })).status, 200)
    await app.login(email)
    const last = await app.login(email)
    const logout = await app.call('/api/logout', { token: bot })
    assert.deepEqual([logout.status, logout.body.reason], [403, 'login_token_required'])
    for (const token of [bot, mute, last]) assert.equal(await me(token), 200)
  })

  // Public case 045
  test('is refused after its revocation by a service that has it cached', async () => {
    const { email } = await app.addCustomer()
    const [bot, other] = [await createToken(email, '--name', 'a'), await createToken(email, '--name', 'b')]
    const login = await app.login(email)
    for (const token of [bot, other, login]) for (let i = 0; i < 5; i++) assert.equal(await me(token), 200)
    const { stdout } = await latchkey('token', 'revoke', email, '--name', 'a')
    assert.equal(stdout, `Revoked 1 token of ${email}, on every instance.\n`)
    // The command waits until every instance has applied the revocation.
    assert.deepEqual([await me(bot), await me(other), await me(login)], [401, 200, 200])
    assert.equal((await latchkey('token', 'revoke', '--issued-before', '0s')).code, 0)
    assert.deepEqual([await me(other), await me(login)], [401, 401])
    assert.equal(await me(await app.login(email)), 200)
  })

  test('is listed with its id, name, state and last use, and without its secret', async () => {
    const { email } = await app.addCustomer()
    const secret = await createToken(email, '--name', 'shown', '--ability', 'orders:read')
    assert.match(
      (await latchkey('token', 'list', email)).stdout,
      / shown +active +\S+ +never +never +orders:read\n/,
    )
    assert.equal(await me(secret), 200)
    await until(async () => (await findLastUse('shown')) !== null)
    for (const args of [[], [email]]) {
      const { stdout } = await latchkey('token', 'list', ...args)
      assert.match(stdout, / shown +active +\S+Z +\S+Z +never +orders:read\n/)
      assert.ok(!stdout.includes(secret.slice(3, 20)))
    }
    assert.ok(app.logLines.every((line) => !line.includes(secret)))
  })

  // Public case 037
  test('is validated without delay while its row is locked, and its use is written later', {
    skip: postgresAlone,
  }, async () => {
    const { email } = await app.addCustomer()
    const [secret, free] = [
      await createToken(email, '--name', 'held'),
      await createToken(email, '--name', 'free'),
    ]
    const holder = new Client({ connectionString: app.database.url })
    await holder.connect()
    await holder.query("begin; select from login_tokens where name = 'held' for update")
    for (const token of [secret, free]) assert.equal(await me(token), 200)
    await until(async () => (await findLastUse('free')) !== null)
    assert.equal(await me(secret), 200)
    assert.equal(await findLastUse('held'), null)
    await holder.query('rollback')
    await holder.end()
    await until(async () => (await findLastUse('held')) !== null)
  })
})
