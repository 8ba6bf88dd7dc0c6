import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { tokenState } from '../../src/domain/login-token.ts'
import { aDigest, aLoginToken } from '../support/builders.ts'
import { raceLogins } from '../support/races.ts'
import {
  type CreateStores,
  login,
  namedToken,
  type Stores,
  storedCustomer,
  unrevoked,
  WAIT_MS,
} from '../support/stores.ts'

/** What every adapter of `LoginTokens` does, checked on fresh stores for each sentence. */
export function loginTokensContract(name: string, create: CreateStores): void {
  describe(`${name} keeps the contract of LoginTokens:`, () => {
    sentence('a token comes back as it went in, with its owner', async (stores) => {
      const { passwordHash: _, ...customer } = await storedCustomer(stores, {
        createdAtMs: 1_700_000_000_001,
      })
      const tokens = [
        aLoginToken({
          customerId: customer.id,
          createdAtMs: 1_700_000_000_003,
          expiresAtMs: 1_700_000_000_999,
        }),
        aLoginToken({ customerId: customer.id, name: 'never', expiresAtMs: null, abilities: [] }),
        aLoginToken({ customerId: customer.id, name: 'ended', revokedAtMs: 1_700_000_000_007 }),
        aLoginToken({ customerId: customer.id, name: 'Zoë’s "bot"', abilities: ODD_ABILITIES }),
      ]
      for (const token of tokens) {
        const digest = aDigest()
        assert.equal(await stores.loginTokens.add(token, digest, WAIT_MS), true)
        assert.deepEqual(await stores.loginTokens.findByDigest(digest, WAIT_MS), { token, customer })
      }
    })

    sentence('a login comes back as it went in', async (stores) => {
      const customer = await storedCustomer(stores)
      const { token, digest, accepted } = await login(stores, customer, { createdAtMs: 1_700_000_000_003 })
      assert.equal(accepted, true)
      assert.deepEqual((await stores.loginTokens.findByDigest(digest, WAIT_MS))?.token, token)
    })

    sentence('nothing is found by a digest that nobody has, however near', async (stores) => {
      const { digest } = await login(stores, await storedCustomer(stores))
      const near = digest.slice(0, -1) + (digest.endsWith('0') ? '1' : '0')
      for (const wrong of [aDigest(), near, `${near[63]}${near.slice(0, 63)}`]) {
        assert.equal(await stores.loginTokens.findByDigest(wrong, WAIT_MS), null)
      }
    })

    sentence('a digest is of one token for ever', async (stores) => {
      const customer = await storedCustomer(stores)
      const { token, digest } = await login(stores, customer)
      const other = await storedCustomer(stores)
      const before = await login(stores, other)
      const second = aLoginToken({ customerId: other.id })
      await assert.rejects(stores.loginTokens.add({ ...second, name: 'bot' }, digest, WAIT_MS))
      await assert.rejects(
        stores.loginTokens.replace({ token: second, digest, verifiedHash: other.passwordHash }, WAIT_MS),
      )
      assert.deepEqual((await stores.loginTokens.findByDigest(digest, WAIT_MS))?.token, token)
      // Neither half of the failed replacement happened.
      assert.deepEqual(await unrevoked(stores, other.id), [before.token])
    })

    sentence('of many who store one digest at once one succeeds', async (stores) => {
      const customer = await storedCustomer(stores)
      const digest = aDigest()
      const attempts = Array.from({ length: 20 }, () =>
        stores.loginTokens.add(aLoginToken({ customerId: customer.id, name: 'bot' }), digest, WAIT_MS),
      )
      const results = await Promise.allSettled(attempts)
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.equal((await stores.loginTokens.listOf(customer.id, WAIT_MS)).length, 1)
    })

    sentence('a login revokes the earlier one at its own time, and nothing else', async (stores) => {
      const customer = await storedCustomer(stores)
      const bot = await namedToken(stores, customer)
      const stranger = await login(stores, await storedCustomer(stores))
      const earlier = await login(stores, customer, { createdAtMs: 1_700_000_000_001 })
      const later = await login(stores, customer, { createdAtMs: 1_700_000_000_777 })
      const revokedAtMs = async (digest: string) =>
        (await stores.loginTokens.findByDigest(digest, WAIT_MS))?.token.revokedAtMs
      assert.equal(await revokedAtMs(earlier.digest), 1_700_000_000_777)
      for (const { digest } of [later, bot, stranger]) assert.equal(await revokedAtMs(digest), null)
    })

    sentence('a login replaces one that has expired', async (stores) => {
      const customer = await storedCustomer(stores)
      await login(stores, customer, { createdAtMs: 1_600_000_000_000, expiresAtMs: 1_600_000_000_001 })
      const { token, accepted } = await login(stores, customer)
      assert.equal(accepted, true)
      assert.deepEqual(await unrevoked(stores, customer.id), [token])
    })

    sentence('a login with a hash that is no longer the customer’s changes nothing', async (stores) => {
      const customer = await storedCustomer(stores)
      const { token } = await login(stores, customer)
      assert.equal((await login(stores, { ...customer, passwordHash: 'another' })).accepted, false)
      assert.deepEqual(await stores.loginTokens.listOf(customer.id, WAIT_MS), [token])
    })

    sentence('nobody logs in who is disabled, gone or without a password', async (stores) => {
      const { customers } = stores
      const disabled = await storedCustomer(stores)
      await customers.disable(disabled.id, Date.now(), WAIT_MS)
      const gone = await storedCustomer(stores)
      await customers.delete(gone.id, WAIT_MS)
      const without = await storedCustomer(stores, {})
      await customers.delete(without.id, WAIT_MS)
      await customers.add({ customer: without, passwordHash: null }, WAIT_MS)
      for (const customer of [disabled, gone, without]) {
        const { digest, accepted } = await login(stores, customer)
        assert.equal(accepted, false)
        assert.equal(await stores.loginTokens.findByDigest(digest, WAIT_MS), null)
      }
    })

    sentence('nobody who is disabled or gone gets a named token', async (stores) => {
      const customer = await storedCustomer(stores)
      await stores.customers.disable(customer.id, Date.now(), WAIT_MS)
      for (const customerId of [customer.id, randomUUID()]) {
        const token = aLoginToken({ customerId, name: 'bot' })
        assert.equal(await stores.loginTokens.add(token, aDigest(), WAIT_MS), false)
        assert.deepEqual(await stores.loginTokens.listOf(customerId, WAIT_MS), [])
      }
    })

    sentence('case 036: of 64 parallel logins all succeed and one token is live', async (stores) => {
      const customer = await storedCustomer(stores)
      const logins = await Promise.all(Array.from({ length: 64 }, () => login(stores, customer)))
      assert.ok(logins.every(({ accepted }) => accepted))
      const live = await unrevoked(stores, customer.id)
      assert.equal(live.length, 1)
      assert.ok(logins.some(({ token }) => token.id === live[0]?.id))
      assert.equal((await stores.loginTokens.listOf(customer.id, WAIT_MS)).length, 64)
    })

    sentence('64 parallel logins mixed with logouts leave one live token at most', async (stores) => {
      for (let round = 0; round < 3; round += 1) await raceLogins(stores, 64)
    })

    sentence('of 50 parallel logouts one revokes', async (stores) => {
      const customer = await storedCustomer(stores)
      const { token, digest } = await login(stores, customer, { createdAtMs: 1_700_000_000_000 })
      const logouts = Array.from({ length: 50 }, (_, index) =>
        stores.loginTokens.revoke({ id: token.id, digest }, 1_700_000_000_001 + index, WAIT_MS),
      )
      const revoked = await Promise.all(logouts)
      assert.equal(revoked.filter(Boolean).length, 1)
      const found = await stores.loginTokens.findByDigest(digest, WAIT_MS)
      assert.equal(found?.token.revokedAtMs, 1_700_000_000_001 + revoked.indexOf(true))
      assert.equal((await stores.loginTokens.listOf(customer.id, WAIT_MS)).length, 1)
    })

    sentence('a revocation concerns one token', async (stores) => {
      const customer = await storedCustomer(stores)
      const kept = [await login(stores, customer), await namedToken(stores, customer)]
      const { token, digest } = await namedToken(stores, customer)
      assert.equal(await stores.loginTokens.revoke({ id: token.id, digest }, Date.now(), WAIT_MS), true)
      assert.equal((await unrevoked(stores, customer.id)).length, kept.length)
      const unknown = { id: randomUUID(), digest: aDigest() }
      assert.equal(await stores.loginTokens.revoke(unknown, Date.now(), WAIT_MS), false)
    })

    sentence('a token expires at its very millisecond', async (stores) => {
      const customer = await storedCustomer(stores)
      for (const [offsetMs, state, isRevoked] of [
        [-1, 'active', true],
        [0, 'expired', false],
        [1, 'expired', false],
      ] as const) {
        const { token, digest } = await login(stores, customer, { expiresAtMs: 1_900_000_000_123 })
        const found = await stores.loginTokens.findByDigest(digest, WAIT_MS)
        assert.equal(found && tokenState(found.token, 1_900_000_000_123 + offsetMs), state)
        const revoking = stores.loginTokens.revoke(
          { id: token.id, digest },
          1_900_000_000_123 + offsetMs,
          WAIT_MS,
        )
        assert.equal(await revoking, isRevoked)
      }
    })

    sentence(
      'a read that begins after a revocation sees it, one that ended before does not',
      async (stores) => {
        const customer = await storedCustomer(stores)
        for (let round = 0; round < 10; round += 1) {
          const { token, digest } = await login(stores, customer)
          let phase: 'before' | 'during' | 'after' = 'before'
          const read = async () => {
            const began = phase
            const found = await stores.loginTokens.findByDigest(digest, WAIT_MS)
            assert.ok(found)
            if (began === 'after') assert.notEqual(found.token.revokedAtMs, null)
            if (phase === 'before') assert.equal(found.token.revokedAtMs, null)
          }
          const readers = Array.from({ length: 4 }, async () => {
            for (let reads = 0; reads < 15; reads += 1) await read()
          })
          await read()
          phase = 'during'
          await stores.loginTokens.revoke({ id: token.id, digest }, Date.now(), WAIT_MS)
          phase = 'after'
          await read()
          await Promise.all(readers)
        }
      },
    )

    sentence('a customer’s tokens are listed newest first, whatever their state', async (stores) => {
      const customer = await storedCustomer(stores)
      const other = await storedCustomer(stores)
      await login(stores, other)
      const second = await namedToken(stores, customer, {
        createdAtMs: 1_700_000_000_002,
        expiresAtMs: 1_700_000_000_003,
      })
      const third = await namedToken(stores, customer, { createdAtMs: 1_700_000_000_003 })
      const first = await namedToken(stores, customer, {
        createdAtMs: 1_700_000_000_001,
        revokedAtMs: 1_700_000_000_002,
      })
      assert.deepEqual(
        await stores.loginTokens.listOf(customer.id, WAIT_MS),
        [third, second, first].map(({ token }) => token),
      )
      assert.deepEqual(await stores.loginTokens.listOf(randomUUID(), WAIT_MS), [])
    })

    sentence('what was read is frozen and stays as it was', async (stores) => {
      const customer = await storedCustomer(stores)
      const abilities = ['orders:read']
      const { token, digest } = await namedToken(stores, customer, { abilities })
      abilities.push('*')
      const found = await stores.loginTokens.findByDigest(digest, WAIT_MS)
      const [listed] = await stores.loginTokens.listOf(customer.id, WAIT_MS)
      assert.ok(found && listed)
      await stores.loginTokens.revoke({ id: token.id, digest }, Date.now(), WAIT_MS)
      assert.equal(found.token.revokedAtMs, null)
      assert.equal(listed.revokedAtMs, null)
      assert.deepEqual(found.token.abilities, ['orders:read'])
      for (const value of [found, found.token, found.token.abilities, found.customer, listed]) {
        assert.ok(Object.isFrozen(value))
      }
    })
  })

  function sentence(says: string, check: (stores: Stores) => Promise<void>): void {
    it(says, async () => {
      const stores = await create()
      try {
        await check(stores)
      } finally {
        await stores.dispose()
      }
    })
  }
}

const ODD_ABILITIES = ['orders:read', '', 'NULL', '{}', 'a,b', 'a"b', 'a\\b', ' ', '🦊', 'orders:read']
