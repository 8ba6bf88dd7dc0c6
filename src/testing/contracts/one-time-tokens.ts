import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { OneTimeToken, OneTimeTokens } from '../../application/ports/one-time-tokens.ts'
import { aCustomer, aDigest, aPasswordHash } from '../builders.ts'
import { assertUnavailable } from '../holds.ts'
import type { TestRunner } from '../runner.ts'
import {
  namedToken,
  type OneTimeStores,
  type StoredCustomer,
  sentencesOn,
  storedCustomer,
  TIMEOUT_MS,
} from '../stores.ts'

const NOW_MS = 1_900_000_000_000
const PURPOSE = 'password-reset'

/**
 * The contract of `OneTimeTokens`: a token is accepted once, until the exact millisecond of its expiry, only for its purpose and
 * customer, and no longer after a new password or a disable. It includes races: one token used 20 times at once, and adds beside
 * uses, new passwords and a delete. `create` returns empty stores for each test. Takes 0.1 s in memory, and 1 to 3 s on PostgreSQL.
 */
export function oneTimeTokensContract(
  name: string,
  create: () => Promise<OneTimeStores>,
  runner?: TestRunner,
): void {
  const { describe, sentence, disturbed } = sentencesOn(create, runner)
  describe(`${name} keeps the contract of OneTimeTokens:`, () => {
    sentence('a token is found any number of times, and used once', async (stores) => {
      const customer = await storedCustomer(stores)
      const token = await added(stores, customer)
      for (let count = 0; count < 2; count++) assert.equal(await find(stores, token), customer.id)
      const { passwordHash: _, ...owner } = customer
      const presented = { ...token, atMs: NOW_MS }
      assert.deepEqual(await stores.oneTimeTokens.use(presented, TIMEOUT_MS), owner)
      assert.deepEqual([await use(stores, token), await find(stores, token)], [null, null])
    })

    sentence('a token expires at the exact millisecond', async (stores) => {
      const token = await added(stores, await storedCustomer(stores), { expiresAtMs: NOW_MS + 1001 })
      for (const at of [find, use]) assert.equal(await at(stores, token, NOW_MS + 1001), null)
      assert.equal(await find(stores, token, NOW_MS + 1000), token.customerId)
      assert.equal(await use(stores, token, NOW_MS + 1000), token.customerId)
    })

    sentence(
      'a token is accepted only for its purpose, and stays valid when it is presented for another',
      async (stores) => {
        const token = await added(stores, await storedCustomer(stores))
        for (const purpose of ['sign-up', 'PASSWORD-RESET', 'password-reset ', "' or 1=1 --", '%', ''])
          for (const at of [find, use]) assert.equal(await at(stores, { ...token, purpose }), null, purpose)
        for (const at of [find, use]) assert.equal(await at(stores, { ...token, digest: aDigest() }), null)
        assert.equal(await use(stores, token), token.customerId)
      },
    )

    sentence('a token replaces the one of the same customer and purpose, and no other', async (stores) => {
      const customer = await storedCustomer(stores)
      const others = [
        await added(stores, customer, { purpose: 'sign-up' }),
        await added(stores, await storedCustomer(stores)),
      ]
      const earlier = await added(stores, customer)
      const later = await added(stores, customer)
      assert.equal(await use(stores, earlier), null)
      for (const token of [later, ...others]) assert.equal(await use(stores, token), token.customerId)
    })

    sentence('an unknown and a disabled customer get none', async (stores) => {
      const disabled = await storedCustomer(stores, { disabledAtMs: 1 })
      for (const customerId of [disabled.id, randomUUID()])
        assert.equal(await stores.oneTimeTokens.add(aOneTimeToken({ customerId }), TIMEOUT_MS), false)
    })

    const endings: Readonly<Record<string, (stores: OneTimeStores, of: StoredCustomer) => Promise<unknown>>> =
      {
        'a password that is set': ({ customers }, { id }) =>
          customers.setPasswordHash(id, aPasswordHash(), NOW_MS, TIMEOUT_MS),
        'a change of the password': async (stores, customer) => {
          const { token } = await namedToken(stores, customer)
          const change = {
            customerId: customer.id,
            verifiedHash: customer.passwordHash,
            keepTokenId: token.id,
          }
          const changed = { ...change, passwordHash: aPasswordHash(), atMs: NOW_MS }
          assert.equal(await stores.customers.changePassword(changed, TIMEOUT_MS), 0)
        },
        'a disable': async ({ customers }, { id }) => {
          await customers.disable(id, NOW_MS, TIMEOUT_MS)
          await customers.enable(id, TIMEOUT_MS)
        },
        'a delete': ({ customers }, { id }) => customers.delete(id, TIMEOUT_MS),
      }
    for (const [ending, end] of Object.entries(endings)) {
      sentence(`${ending} ends the tokens of its customer, and of no other`, async (stores) => {
        const customer = await storedCustomer(stores)
        const ended = [await added(stores, customer), await added(stores, customer, { purpose: 'sign-up' })]
        const other = await added(stores, await storedCustomer(stores))
        await end(stores, customer)
        for (const token of ended)
          for (const at of [find, use]) assert.equal(await at(stores, token), null, token.purpose)
        assert.equal(await use(stores, other), other.customerId)
      })
    }

    sentence('a rehash and a refused change of the password end none', async (stores) => {
      const customer = await storedCustomer(stores)
      const token = await added(stores, customer)
      const { token: current } = await namedToken(stores, customer)
      await stores.customers.rehash(customer.id, customer.passwordHash, aPasswordHash(), TIMEOUT_MS)
      const change = { customerId: customer.id, verifiedHash: customer.passwordHash, keepTokenId: current.id }
      const changed = { ...change, passwordHash: aPasswordHash(), atMs: NOW_MS }
      assert.equal(await stores.customers.changePassword(changed, TIMEOUT_MS), null)
      assert.equal(await use(stores, token), customer.id)
    })

    sentence('of 20 parallel uses one succeeds', async (stores) => {
      const token = await added(stores, await storedCustomer(stores))
      const used = await Promise.all(Array.from({ length: 20 }, () => use(stores, token)))
      assert.equal(used.filter((id) => id !== null).length, 1)
    })

    sentence('of parallel adds all succeed, and one token stays', async (stores) => {
      const customer = await storedCustomer(stores)
      const tokens = await Promise.all(Array.from({ length: 20 }, () => added(stores, customer)))
      const used: unknown[] = []
      for (const token of tokens) used.push(await use(stores, token))
      assert.equal(used.filter((id) => id !== null).length, 1)
    })

    sentence('adds, uses and new passwords at once all succeed, and a delete ends them', async (stores) => {
      const customer = await storedCustomer(stores)
      const token = await added(stores, customer)
      const { customers, oneTimeTokens } = stores
      const add = () => oneTimeTokens.add(aOneTimeToken({ customerId: customer.id }), TIMEOUT_MS)
      await Promise.all(
        Array.from({ length: 10 }, () => [
          add(),
          use(stores, token),
          customers.setPasswordHash(customer.id, aPasswordHash(), NOW_MS, TIMEOUT_MS),
        ]).flat(),
      )
      await Promise.all([add(), add(), customers.delete(customer.id, TIMEOUT_MS), add(), add()])
      assert.equal(await add(), false)
    })

    disturbed(
      'stall',
      'it rejects with Unavailable when the store does not respond',
      async (stores, stall) => {
        const token = await added(stores, await storedCustomer(stores))
        const resume = await stall()
        try {
          const presented = { ...token, atMs: NOW_MS }
          await assertUnavailable({
            add: (timeoutMs) => stores.oneTimeTokens.add(token, timeoutMs),
            find: (timeoutMs) => stores.oneTimeTokens.find(presented, timeoutMs),
            use: (timeoutMs) => stores.oneTimeTokens.use(presented, timeoutMs),
          })
        } finally {
          await resume()
        }
      },
    )
  })
}

function aOneTimeToken(different: Partial<OneTimeToken> = {}): OneTimeToken {
  return {
    customerId: aCustomer().id,
    purpose: PURPOSE,
    digest: aDigest(),
    expiresAtMs: NOW_MS + 3_600_000,
    ...different,
  }
}

async function added(
  { oneTimeTokens }: OneTimeStores,
  { id }: StoredCustomer,
  different: Partial<OneTimeToken> = {},
): Promise<OneTimeToken> {
  const token = aOneTimeToken({ customerId: id, ...different })
  assert.equal(await oneTimeTokens.add(token, TIMEOUT_MS), true, 'the token was not stored')
  return token
}

type Look = Pick<OneTimeToken, 'digest' | 'purpose'>

const find = ({ oneTimeTokens }: OneTimeStores, token: Look, atMs = NOW_MS) =>
  customerId(oneTimeTokens.find({ ...token, atMs }, TIMEOUT_MS))
const use = ({ oneTimeTokens }: OneTimeStores, token: Look, atMs = NOW_MS) =>
  customerId(oneTimeTokens.use({ ...token, atMs }, TIMEOUT_MS))

async function customerId(found: ReturnType<OneTimeTokens['find']>): Promise<string | null> {
  return (await found)?.id ?? null
}
