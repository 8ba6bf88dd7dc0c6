import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { inspect } from 'node:util'
import type { OneTimeToken, OneTimeTokens } from '../../application/ports/one-time-tokens.ts'
import { aCustomer, aDigest, aPasswordHash } from '../builders.ts'
import { assertRecovers, assertUnavailable } from '../holds.ts'
import { loginInRace, repeatUnavailable } from '../races.ts'
import type { TestRunner } from '../runner.ts'
import {
  login,
  namedToken,
  type OneTimeStores,
  type StoredCustomer,
  sentencesOn,
  storedCustomer,
  TIMEOUT_MS,
  unrevoked,
} from '../stores.ts'

const NOW_MS = 1_900_000_000_000
const PURPOSE = 'password-reset'
/** The rounds of a race. */
const ROUNDS = 20
const MICROTASKS = 6

/**
 * The contract of `OneTimeTokens`: a token is accepted once, until the exact millisecond of its expiry, only for its purpose and
 * customer, and no longer after a new password or a disable. A reset of the password (`Customers.resetPassword`) uses a token, sets
 * the password and revokes, or does none of it. It includes races: one token used 20 times at once, adds beside uses, new passwords
 * and a delete, and resets beside each other, other new passwords and logins. `create` returns empty stores for each test. Takes
 * 0.1 s in memory, and 2 to 8 s on PostgreSQL.
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

    sentence('a reset of the password uses its token, and revokes and ends all others', async (stores) => {
      const customer = await storedCustomer(stores)
      const other = await storedCustomer(stores)
      const others = [await login(stores, other), await added(stores, other)] as const
      const issued = [await login(stores, customer), await namedToken(stores, customer)]
      const token = await added(stores, customer)
      const second = await added(stores, customer, { purpose: 'sign-up' })
      assert.equal(await reset(stores, token, 'new hash'), 2)
      assert.equal(await passwordHash(stores, customer), 'new hash')
      for (const { digest } of issued) {
        const found = await stores.loginTokens.findByDigest(digest, TIMEOUT_MS)
        assert.equal(found?.token.revokedAtMs, NOW_MS)
      }
      for (const ended of [token, second]) {
        assert.equal(await find(stores, ended), null)
        assert.equal(await reset(stores, ended, 'a third hash'), null)
      }
      assert.equal(await passwordHash(stores, customer), 'new hash')
      assert.equal(
        (await stores.loginTokens.findByDigest(others[0].digest, TIMEOUT_MS))?.token.revokedAtMs,
        null,
      )
      assert.equal(await find(stores, others[1]), other.id)
      assert.equal(await passwordHash(stores, other), other.passwordHash)
    })

    sentence('a reset with a token that is not valid for it changes nothing', async (stores) => {
      const customer = await storedCustomer(stores)
      const other = await storedCustomer(stores)
      const token = await added(stores, customer, { expiresAtMs: NOW_MS + 1 })
      const { token: held } = await login(stores, customer)
      for (const different of [
        { customerId: other.id },
        { customerId: randomUUID() },
        { purpose: 'sign-up' },
        { purpose: 'PASSWORD-RESET' },
        { digest: aDigest() },
        { atMs: NOW_MS + 1 },
      ])
        assert.equal(await reset(stores, { ...token, ...different }, 'new hash'), null, inspect(different))
      for (const { id, email, passwordHash: hash } of [customer, other]) {
        assert.equal((await stores.customers.findByEmail(email, TIMEOUT_MS))?.passwordHash, hash)
        const live = (await unrevoked(stores, id)).map((each) => each.id)
        assert.deepEqual(live, id === customer.id ? [held.id] : [])
      }
      assert.equal(await reset(stores, token, 'new hash'), 1)
    })

    sentence(
      'of resets at once with two tokens of a customer one succeeds, and its password counts',
      async (stores) => {
        for (let round = 0; round < ROUNDS; round++) {
          const customer = await storedCustomer(stores)
          const tokens = [
            await added(stores, customer),
            await added(stores, customer, { purpose: 'sign-up' }),
          ]
          const presented = [...tokens, ...tokens, ...tokens]
          const outcomes = await Promise.all(
            presented.map((token, index) => repeatUnavailable(() => reset(stores, token, `hash ${index}`))),
          )
          const succeeded = outcomes.flatMap((revoked, index) => (revoked === null ? [] : [`hash ${index}`]))
          assert.deepEqual(succeeded, [await passwordHash(stores, customer)])
        }
      },
    )

    sentence(
      'of a reset and a change of the password at once one succeeds, and its password counts',
      async (stores) => {
        for (let round = 0; round < ROUNDS; round++) {
          const customer = await storedCustomer(stores)
          const token = await added(stores, customer)
          const { token: kept } = await login(stores, customer)
          const change = {
            customerId: customer.id,
            verifiedHash: customer.passwordHash,
            keepTokenId: kept.id,
          }
          const changed = { ...change, passwordHash: 'changed hash', atMs: NOW_MS }
          const [isReset, isChanged] = await staggered(
            round,
            () => reset(stores, token, 'reset hash'),
            () => stores.customers.changePassword(changed, TIMEOUT_MS),
          )
          const succeeded = [
            ...(isReset === null ? [] : ['reset hash']),
            ...(isChanged === null ? [] : ['changed hash']),
          ]
          assert.deepEqual(succeeded, [await passwordHash(stores, customer)])
          const live = (await unrevoked(stores, customer.id)).map(({ id }) => id)
          assert.deepEqual(live, isChanged === null ? [] : [kept.id])
        }
      },
    )

    sentence('a reset does not replace a password that is set at the same time', async (stores) => {
      for (let round = 0; round < ROUNDS; round++) {
        const customer = await storedCustomer(stores)
        const token = await added(stores, customer)
        await staggered(
          round,
          () => reset(stores, token, 'reset hash'),
          () => stores.customers.setPasswordHash(customer.id, 'set hash', NOW_MS, TIMEOUT_MS),
        )
        assert.equal(await passwordHash(stores, customer), 'set hash')
      }
    })

    sentence('no login outlives a reset that it raced against', async (stores) => {
      for (let round = 0; round < ROUNDS; round++) {
        const customer = await storedCustomer(stores)
        const token = await added(stores, customer)
        const calls: Promise<unknown>[] = []
        for (let index = 0; index < 6; index++) {
          if (index === round % 6) calls.push(repeatUnavailable(() => reset(stores, token, 'reset hash')))
          calls.push(passSteps(index).then(() => loginInRace(stores, customer)))
        }
        await Promise.all(calls)
        assert.equal(await passwordHash(stores, customer), 'reset hash')
        assert.deepEqual(await unrevoked(stores, customer.id), [], 'a token outlived the reset')
      }
    })

    disturbed(
      'lockToken',
      'a reset that fails because a login token is locked changes nothing, and its one-time token stays valid',
      async (stores, lockToken) => {
        const customer = await storedCustomer(stores)
        const token = await added(stores, customer)
        const { token: held } = await login(stores, customer)
        const unlock = await lockToken(held.id)
        await assertUnavailable({
          resetPassword: (timeoutMs) => reset(stores, token, 'new hash', timeoutMs),
        }).finally(unlock)
        assert.equal(await passwordHash(stores, customer), customer.passwordHash)
        assert.equal(await find(stores, token), customer.id)
        await assertRecovers(async () => assert.equal(await reset(stores, token, 'new hash'), 1))
        assert.equal(await passwordHash(stores, customer), 'new hash')
      },
    )

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
            resetPassword: (timeoutMs) => reset(stores, token, 'new hash', timeoutMs),
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

/** Resets the password to this hash. */
function reset(
  { customers }: OneTimeStores,
  {
    customerId,
    purpose,
    digest,
    atMs = NOW_MS,
  }: Omit<OneTimeToken, 'expiresAtMs'> & { readonly atMs?: number },
  passwordHash: string,
  timeoutMs = TIMEOUT_MS,
): Promise<number | null> {
  return customers.resetPassword({ customerId, purpose, digest, atMs, passwordHash }, timeoutMs)
}

async function passwordHash(
  { customers }: OneTimeStores,
  { email }: StoredCustomer,
): Promise<string | null | undefined> {
  return (await customers.findByEmail(email, TIMEOUT_MS))?.passwordHash
}

/**
 * Makes both calls, one of them a few steps after the other: in each round another one and another number of steps. Returns their
 * results.
 */
async function staggered<First, Second>(
  round: number,
  first: () => Promise<First>,
  second: () => Promise<Second>,
): Promise<readonly [First, Second]> {
  const steps = Math.floor(round / 2)
  return Promise.all([
    passSteps(round % 2 === 0 ? 0 : steps).then(() => repeatUnavailable(first)),
    passSteps(round % 2 === 0 ? steps : 0).then(() => repeatUnavailable(second)),
  ])
}

/** Lets others run: between the microtasks of a store in memory, then between the responses of a server. */
async function passSteps(count: number): Promise<void> {
  for (let step = 0; step < count; step++) await (step < MICROTASKS ? null : setImmediate())
}
