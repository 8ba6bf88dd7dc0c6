import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { namedToken, storedCustomer, TIMEOUT_MS } from '../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'

describe('A row of PostgreSQL', () => {
  let stores: PostgresStores
  before(async () => {
    stores = await openPostgresStores()
  })
  after(() => stores.close())

  it('returns each stored time to the millisecond', async () => {
    const customer = await storedCustomer(stores)
    const many = Array.from({ length: 100 }, (_, n) => 1_700_000_000_000 + n * 1_000_003_337)
    // Of these the seconds, as a number with a fraction, are a little too small.
    const times = [548_009_600_160, ...many, 2_165_230_793_818, 2_198_983_381_029]
    for (const [n, createdAtMs] of times.entries()) {
      await namedToken(stores, customer, { name: `bot ${n}`, createdAtMs, expiresAtMs: createdAtMs + 1 })
    }
    const tokens = await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS)
    assert.deepEqual(
      tokens.map(({ createdAtMs, expiresAtMs }) => [createdAtMs, expiresAtMs]),
      times.toReversed().map((atMs) => [atMs, atMs + 1]),
    )
  })

  it('returns every ability in its order', async () => {
    const customer = await storedCustomer(stores)
    for (const abilities of [['*'], ['*', 'orders:read'], ['orders:read', '*'], []]) {
      const { digest } = await namedToken(stores, customer, { name: `bot ${abilities}`, abilities })
      const found = await stores.loginTokens.findByDigest(digest, TIMEOUT_MS)
      assert.deepEqual(found?.token.abilities, abilities)
    }
  })
})
