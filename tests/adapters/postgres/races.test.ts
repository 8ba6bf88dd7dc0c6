import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Client } from 'pg'
import type { LoginTokens } from '../../../src/application/ports.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'
import { raceEnding, raceLogins } from '../../support/races.ts'
import { rounds } from '../../support/rounds.ts'
import { login, storedCustomer, WAIT_MS } from '../../support/stores.ts'

describe('on PostgreSQL', () => {
  let stores: PostgresStores
  before(async () => {
    stores = await openPostgresStores()
  })
  after(() => stores.close())

  it('row G7: 64 parallel logins mixed with logouts leave one live token', async (t) => {
    const count = rounds('G7', 15)
    for (let round = 0; round < count; round += 1) await raceLogins(stores, 64)
    t.diagnostic(`G7: ${count} rounds of 64 logins and 16 logouts, 0 violations`)
  })

  it('row G7: the race is lost by a replacement that takes no lock', async () => {
    const loginTokens: LoginTokens = { ...stores.loginTokens, replace: replaceWithoutLock(stores) }
    await assert.rejects(raceLogins({ ...stores, loginTokens }, 64))
  })

  it('row G7b: no token won with the old password outlives a change or a disable', async (t) => {
    const count = rounds('G7B', 30)
    for (let round = 0; round < count; round += 1) {
      await raceEnding(stores, 'password')
      await raceEnding(stores, 'disable')
    }
    t.diagnostic(`G7b: ${count} rounds of each, 0 live tokens`)
  })

  it('row G7b: the race is lost by a replacement that compares nothing', async () => {
    const loginTokens: LoginTokens = {
      ...stores.loginTokens,
      async replace(newLogin, waitMs) {
        const [row] = await stores.database.sql('select password_hash from customers where id = $1', [
          newLogin.token.customerId,
        ])
        return stores.loginTokens.replace({ ...newLogin, verifiedHash: row?.password_hash }, waitMs)
      },
    }
    await assert.rejects(async () => {
      for (let round = 0; round < 30; round += 1) await raceEnding({ ...stores, loginTokens }, 'password')
    })
  })

  it('case 037, row H5: a locked row stops the changes to it in time, and nothing else', async (t) => {
    const customer = await storedCustomer(stores)
    const { token, digest } = await login(stores, customer)
    const other = await storedCustomer(stores)
    const holder = new Client({ connectionString: stores.database.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select from login_tokens where id = $1 for update', [token.id])
    await holder.query('select from customers where id = $1 for update', [customer.id])

    const refusedAfterMs = async (call: Promise<unknown>) => {
      const beganMs = performance.now()
      await assert.rejects(call, Unavailable)
      return performance.now() - beganMs
    }
    const { customers, loginTokens } = stores
    const refusals = Promise.all([
      refusedAfterMs(loginTokens.revoke({ id: token.id, digest }, Date.now(), 1000)),
      refusedAfterMs(customers.disable(customer.id, Date.now(), 1000)),
      refusedAfterMs(customers.setPasswordHash(customer.id, 'new', Date.now(), 1000)),
      refusedAfterMs(customers.delete(customer.id, 1000)),
      refusedAfterMs(
        loginTokens.replace({ token: { ...token }, digest, verifiedHash: customer.passwordHash }, 1000),
      ),
    ])
    assert.ok(await loginTokens.findByDigest(digest, 1000))
    assert.ok((await login(stores, other)).accepted)
    const slowestMs = Math.max(...(await refusals))
    assert.ok(slowestMs < 10_000, 'it waited for whoever holds the lock')

    await holder.query('rollback')
    await holder.end()
    assert.equal(await loginTokens.revoke({ id: token.id, digest }, Date.now(), WAIT_MS), true)
    t.diagnostic(`H5: 5 changes refused, the slowest after ${Math.round(slowestMs)} ms`)
  })
})

function replaceWithoutLock({ pool }: PostgresStores): LoginTokens['replace'] {
  const revoke = {
    name: 'mutant_revoke',
    text: "update login_tokens set revoked_at = now() where customer_id = $1 and name = 'login' and revoked_at is null",
  }
  const insert = {
    name: 'mutant_insert',
    text: `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
           values ($1, $2, 'login', decode($3, 'hex'), '{*}', now())`,
  }
  return ({ token, digest }, waitMs) =>
    pool.run(waitMs, (session) =>
      session.transaction(async () => {
        await session.query(revoke, [token.customerId])
        await session.query(insert, [token.id, token.customerId, digest])
        return 1
      }),
    )
}
