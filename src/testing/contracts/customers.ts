import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Customers } from '../../application/ports/customers.ts'
import { aCustomer, aDigest, aPasswordHash } from '../builders.ts'
import { assertUnavailable } from '../holds.ts'
import { raceChange, raceEnding, repeatUnavailable } from '../races.ts'
import type { TestRunner } from '../runner.ts'
import {
  type CreateStores,
  login,
  namedToken,
  type Stores,
  sentencesOn,
  storedCustomer,
  TIMEOUT_MS,
  unrevoked,
} from '../stores.ts'

/**
 * The contract of `Customers`: e-mails are equal in any ASCII case and in no other way, a batch is stored completely or
 * not at all, pages are in byte order, and a change of a customer revokes tokens. It includes races: one e-mail added 20
 * times at once, 8 batches of the same 300 e-mails in two orders, parallel deletes and disables, and logins against a new
 * password and against a disable. `create` returns empty stores for each test; a call has a timeout of 30 s. Takes 0.25 s
 * in memory, and 3 to 6 s on PostgreSQL.
 */
export function customersContract(name: string, create: CreateStores, runner?: TestRunner): void {
  const { describe, sentence, disturbed } = sentencesOn(create, runner)
  describe(`${name} keeps the contract of Customers:`, () => {
    sentence('a customer is returned as it was stored', async ({ customers }) => {
      const stored = [
        { customer: aCustomer({ createdAtMs: 1_700_000_000_001 }), passwordHash: aPasswordHash() },
        { customer: aCustomer({ name: null, disabledAtMs: 1_700_000_000_999 }), passwordHash: null },
        {
          customer: aCustomer({ name: 'Zoë “Z” O’Hara 🦊', email: 'Mixed.Case+tag@Example.COM' }),
          passwordHash: '',
        },
      ]
      for (const credentials of stored) {
        assert.equal(await customers.add(credentials, TIMEOUT_MS), true, credentials.customer.email)
        assert.deepEqual(await customers.findByEmail(credentials.customer.email, TIMEOUT_MS), credentials)
      }
    })

    sentence('a customer is found by the id, and by the id of a token in any state', async (stores) => {
      const { customers, loginTokens } = stores
      const { passwordHash, ...customer } = await storedCustomer(stores)
      await storedCustomer(stores)
      const { token } = await namedToken(stores, customer)
      assert.deepEqual(await customers.findById(customer.id, TIMEOUT_MS), customer)
      assert.deepEqual(await customers.findById(token.id, TIMEOUT_MS), customer)
      await loginTokens.revokeByCustomer(customer.id, {}, token.createdAtMs, TIMEOUT_MS)
      assert.deepEqual(await customers.findById(token.id, TIMEOUT_MS), customer)
      assert.equal(await customers.findById(randomUUID(), TIMEOUT_MS), null)
    })

    sentence(
      'a customer is found by the e-mail in any ASCII case, and by no other e-mail',
      async (stores) => {
        const { id } = await storedCustomer(stores, { email: 'Ada@Example.com' })
        for (const email of ['ada@example.com', 'ADA@EXAMPLE.COM', 'aDa@eXample.com']) {
          assert.equal((await stores.customers.findByEmail(email, TIMEOUT_MS))?.customer.id, id, email)
        }
        for (const email of [
          'ad@example.com',
          'ada@example.co',
          '',
          '%',
          'ada_example.com',
          'ada@example_com',
        ]) {
          assert.equal(await stores.customers.findByEmail(email, TIMEOUT_MS), null, email)
        }
      },
    )

    for (const [one, other] of LOOK_ALIKES) {
      sentence(`${escaped(one)} and ${escaped(other)} are two customers`, async (stores) => {
        const first = await storedCustomer(stores, { email: `${one}@example.com` })
        assert.equal(await stores.customers.findByEmail(`${other}@example.com`, TIMEOUT_MS), null)
        const second = await storedCustomer(stores, { email: `${other}@example.com` })
        for (const { id, email } of [first, second]) {
          assert.equal((await stores.customers.findByEmail(email, TIMEOUT_MS))?.customer.id, id, email)
        }
      })
    }

    sentence('text with SQL syntax is plain text', async (stores) => {
      for (const email of ["o'hara@example.com", '"; drop table customers; --', '$1', '\\', "' or 1=1 --"]) {
        const { id } = await storedCustomer(stores, { email, name: email })
        const found = await stores.customers.findByEmail(email, TIMEOUT_MS)
        assert.deepEqual([found?.customer.id, found?.customer.name], [id, email])
      }
    })

    sentence('an e-mail is taken in every ASCII case', async (stores) => {
      const first = await storedCustomer(stores, { email: 'ada@example.com' })
      const second = { customer: aCustomer({ email: 'ADA@example.com' }), passwordHash: aPasswordHash() }
      assert.equal(await stores.customers.add(second, TIMEOUT_MS), false)
      const found = await stores.customers.findByEmail('ada@example.com', TIMEOUT_MS)
      assert.deepEqual([found?.customer.id, found?.passwordHash], [first.id, first.passwordHash])
    })

    sentence('of many parallel adds of one e-mail one succeeds', async ({ customers }) => {
      const attempts = Array.from({ length: 20 }, () =>
        customers.add({ customer: aCustomer({ email: 'ada@example.com' }), passwordHash: null }, TIMEOUT_MS),
      )
      assert.equal((await Promise.all(attempts)).filter(Boolean).length, 1)
    })

    sentence('each customer of a batch is returned as it was stored', async ({ customers }) => {
      const many = [
        { customer: aCustomer({ createdAtMs: 1_700_000_000_001 }), passwordHash: aPasswordHash() },
        { customer: aCustomer({ name: null, disabledAtMs: 1_700_000_000_999 }), passwordHash: null },
        ...["o'hara@x", '"{a,b}"@x', '\\@x', 'NULL', '{}', 'ñandu@x', '🦊@x'].map((text) => ({
          customer: aCustomer({ email: text, name: text }),
          passwordHash: text,
        })),
        { customer: aCustomer({ name: '' }), passwordHash: '' },
      ]
      assert.deepEqual(
        await customers.addMany(many, TIMEOUT_MS),
        many.map(() => true),
      )
      for (const credentials of many)
        assert.deepEqual(await customers.findByEmail(credentials.customer.email, TIMEOUT_MS), credentials)
      assert.deepEqual(await customers.addMany([], TIMEOUT_MS), [])
    })

    sentence('a batch stores the first customer with an e-mail and overwrites none', async (stores) => {
      const { customers } = stores
      const there = await storedCustomer(stores, { email: 'Ada@example.com' })
      const emails = ['z@x', 'ADA@example.com', 'Z@X', 'b@x', 'B@x', 'a@x']
      const many = emails.map((email) => ({
        customer: aCustomer({ email }),
        passwordHash: aPasswordHash(),
      }))
      assert.deepEqual(await customers.addMany(many, TIMEOUT_MS), [true, false, false, true, false, true])
      const hashOf = async (email: string) => (await customers.findByEmail(email, TIMEOUT_MS))?.passwordHash
      assert.equal(await hashOf('ada@example.com'), there.passwordHash)
      for (const at of [0, 3, 5])
        assert.equal(await hashOf(emails[at] ?? ''), many[at]?.passwordHash, emails[at])
      assert.deepEqual(
        await customers.addMany(many, TIMEOUT_MS),
        many.map(() => false),
      )
    })

    sentence('a batch with one invalid customer stores none of them', async (stores) => {
      const { id } = await storedCustomer(stores)
      const many = [aCustomer(), aCustomer({ id, email: 'other@example.com' }), aCustomer()].map(
        (customer) => ({ customer, passwordHash: null }),
      )
      await assert.rejects(
        stores.customers.addMany(many, TIMEOUT_MS),
        'addMany stored a customer with an id that another customer has',
      )
      assert.equal((await stores.customers.list({ afterEmail: null, limit: 9 }, TIMEOUT_MS)).length, 1)
    })

    sentence('parallel batches in any order store each e-mail once', async ({ customers }) => {
      const emails = Array.from({ length: 300 }, (_, n) => `customer-${n}@example.com`)
      const batches = await Promise.all(
        Array.from({ length: 8 }, (_, n) => {
          const order = n % 2 === 0 ? emails : [...emails].reverse()
          const spelt = order.map((email) => (n % 3 === 0 ? email.toUpperCase() : email))
          return customers.addMany(
            spelt.map((email) => ({ customer: aCustomer({ email }), passwordHash: null })),
            TIMEOUT_MS,
          )
        }),
      )
      assert.equal(batches.flat().filter(Boolean).length, emails.length)
      assert.equal((await customers.list({ afterEmail: null, limit: 999 }, TIMEOUT_MS)).length, emails.length)
    })

    sentence('pages list every customer once, in the order of the folded e-mails', async (stores) => {
      const { customers } = stores
      const inOrder = ['A@x', 'a.b@x', 'B@x', 'Z@x', 'é@x', '～@x', '🦊@x']
      for (const email of [...inOrder].reverse()) await storedCustomer(stores, { email })
      for (const limit of [1, 3, 7, 100]) {
        const seen: string[] = []
        for (let afterEmail: string | null = null; seen.length <= inOrder.length; ) {
          const page = await customers.list({ afterEmail, limit }, TIMEOUT_MS)
          assert.ok(page.length <= limit, `a page of ${page.length}, not ${limit}`)
          seen.push(...page.map(({ email }) => email))
          if (page.length < limit) break
          afterEmail = page.at(-1)?.email ?? null
        }
        assert.deepEqual(seen, ['a.b@x', 'A@x', 'B@x', 'Z@x', 'é@x', '～@x', '🦊@x'])
      }
    })

    sentence('a page starts after an e-mail in any case, stored or not', async (stores) => {
      for (const email of ['a@x', 'B@x', 'c@x']) await storedCustomer(stores, { email })
      const after = async (afterEmail: string) =>
        (await stores.customers.list({ afterEmail, limit: 9 }, TIMEOUT_MS)).map(({ email }) => email)
      assert.deepEqual(await after('b@X'), ['c@x'])
      assert.deepEqual(await after('aa@x'), ['B@x', 'c@x'])
      assert.deepEqual(await after('z'), [])
    })

    sentence('a new password revokes all tokens of the customer and no others', async (stores) => {
      await revokesAll(stores, (id) =>
        stores.customers.setPasswordHash(id, 'new hash', REVOKED_AT_MS, TIMEOUT_MS),
      )
    })

    sentence('a disable revokes all tokens of the customer and no others', async (stores) => {
      await revokesAll(stores, (id) => stores.customers.disable(id, REVOKED_AT_MS, TIMEOUT_MS))
    })

    sentence('only the new password hash counts', async (stores) => {
      const customer = await storedCustomer(stores)
      assert.equal(await stores.customers.setPasswordHash(customer.id, 'new hash', Date.now(), TIMEOUT_MS), 0)
      const found = await stores.customers.findByEmail(customer.email, TIMEOUT_MS)
      assert.equal(found?.passwordHash, 'new hash')
      assert.equal((await login(stores, customer)).accepted, false)
      assert.equal((await login(stores, { ...customer, passwordHash: 'new hash' })).accepted, true)
    })

    sentence('a change of the password keeps one token and revokes all others', async (stores) => {
      const { customers, loginTokens } = stores
      const customer = await storedCustomer(stores)
      const other = await login(stores, await storedCustomer(stores))
      const into = (slot: number) => login(stores, customer, {}, () => ({ slot, revoked: [], moved: [] }))
      const [current, phone] = [await into(1), await into(2)]
      const bot = await namedToken(stores, customer)
      const change = {
        customerId: customer.id,
        verifiedHash: customer.passwordHash,
        passwordHash: 'new hash',
        keepTokenId: current.token.id,
        atMs: REVOKED_AT_MS,
      }
      assert.equal(await customers.changePassword(change, TIMEOUT_MS), 2)
      assert.equal((await customers.findByEmail(customer.email, TIMEOUT_MS))?.passwordHash, 'new hash')
      for (const { token, digest } of [phone, bot])
        assert.equal(
          (await loginTokens.findByDigest(digest, TIMEOUT_MS))?.token.revokedAtMs,
          REVOKED_AT_MS,
          token.name,
        )
      for (const { digest } of [current, other])
        assert.equal((await loginTokens.findByDigest(digest, TIMEOUT_MS))?.token.revokedAtMs, null)
    })

    sentence('a change of the password that no longer fits changes nothing', async (stores) => {
      const { customers } = stores
      const customer = await storedCustomer(stores)
      const stranger = await login(stores, await storedCustomer(stores))
      const { token, digest } = await login(stores, customer)
      const bot = await namedToken(stores, customer)
      const change = {
        customerId: customer.id,
        verifiedHash: customer.passwordHash,
        passwordHash: 'new hash',
        keepTokenId: token.id,
        atMs: REVOKED_AT_MS,
      }
      const refused = async (different: Partial<typeof change>, why: string) => {
        assert.equal(await customers.changePassword({ ...change, ...different }, TIMEOUT_MS), null, why)
        const found = await customers.findByEmail(customer.email, TIMEOUT_MS)
        assert.equal(found?.passwordHash, customer.passwordHash, why)
        const isRevoked = !(await unrevoked(stores, customer.id)).some(({ id }) => id === bot.token.id)
        assert.equal(isRevoked, why === 'disabled', why)
      }
      await refused({ verifiedHash: 'another hash' }, 'the hash changed')
      await refused({ customerId: randomUUID() }, 'the customer is unknown')
      await refused({ keepTokenId: randomUUID() }, 'the token is unknown')
      await refused({ keepTokenId: stranger.token.id }, 'the token is of another customer')
      await stores.loginTokens.revoke({ id: token.id, digest }, Date.now(), TIMEOUT_MS)
      await refused({}, 'the token is revoked')
      await customers.disable(customer.id, Date.now(), TIMEOUT_MS)
      await refused({ keepTokenId: bot.token.id }, 'disabled')
    })

    sentence('a reset of the password without a valid one-time token changes nothing', async (stores) => {
      const customer = await storedCustomer(stores)
      const { token } = await login(stores, customer)
      const found = async () => (await stores.customers.findByEmail(customer.email, TIMEOUT_MS))?.passwordHash
      for (const customerId of [customer.id, randomUUID()]) {
        const reset = { customerId, purpose: 'password-reset', digest: aDigest(), passwordHash: 'new hash' }
        assert.equal(await stores.customers.resetPassword({ ...reset, atMs: 1 }, TIMEOUT_MS), null)
      }
      assert.equal(await found(), customer.passwordHash)
      assert.deepEqual(
        (await unrevoked(stores, customer.id)).map(({ id }) => id),
        [token.id],
      )
    })

    sentence('no login outlives a change of the password that it raced against', async (stores) => {
      for (let round = 0; round < 10; round += 1) await raceChange(stores)
    })

    sentence('a rehash replaces only the expected hash and revokes no token', async (stores) => {
      const customer = await storedCustomer(stores)
      const tokens = [await login(stores, customer), await namedToken(stores, customer)]
      const { id, email, passwordHash } = customer
      const renew = (who: string, from: string) => stores.customers.rehash(who, from, 'renewed', TIMEOUT_MS)
      const hash = async () => (await stores.customers.findByEmail(email, TIMEOUT_MS))?.passwordHash

      // A new password may have been set while the old one was being rehashed.
      assert.equal(await renew(id, 'another hash'), false)
      assert.equal(await renew(randomUUID(), passwordHash), false)
      assert.equal(await hash(), passwordHash)
      assert.equal(await renew(id, passwordHash), true)
      assert.equal(await hash(), 'renewed')
      assert.equal(await renew(id, passwordHash), false)
      const left = await unrevoked(stores, id)
      assert.deepEqual(left.map((token) => token.id).sort(), tokens.map(({ token }) => token.id).sort())
    })

    sentence('a disabled customer keeps the time of the first disable until enabled', async (stores) => {
      const customer = await storedCustomer(stores)
      const disabledAtMs = async () =>
        (await stores.customers.findByEmail(customer.email, TIMEOUT_MS))?.customer.disabledAtMs
      assert.equal(await stores.customers.disable(customer.id, 1_700_000_000_001, TIMEOUT_MS), 0)
      assert.equal(await stores.customers.disable(customer.id, 1_700_000_000_002, TIMEOUT_MS), 0)
      assert.equal(await disabledAtMs(), 1_700_000_000_001)
      assert.equal((await login(stores, customer)).accepted, false)

      assert.equal(await stores.customers.enable(customer.id, TIMEOUT_MS), true)
      assert.equal(await disabledAtMs(), null)
      assert.equal((await login(stores, customer)).accepted, true)
    })

    sentence('enabling a customer restores no token', async (stores) => {
      const customer = await storedCustomer(stores)
      await login(stores, customer)
      assert.equal(await stores.customers.disable(customer.id, Date.now(), TIMEOUT_MS), 1)
      await stores.customers.enable(customer.id, TIMEOUT_MS)
      assert.deepEqual(await unrevoked(stores, customer.id), [])
    })

    sentence('a deleted customer is gone with all tokens, and the e-mail is free', async (stores) => {
      const customer = await storedCustomer(stores)
      const other = await storedCustomer(stores)
      const tokens = [await login(stores, customer), await namedToken(stores, customer)]
      const unaffected = await login(stores, other)
      assert.equal(await stores.customers.delete(customer.id, TIMEOUT_MS), true)
      assert.equal(await stores.customers.findByEmail(customer.email, TIMEOUT_MS), null)
      for (const { digest } of tokens)
        assert.equal(await stores.loginTokens.findByDigest(digest, TIMEOUT_MS), null, digest)
      assert.deepEqual(await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS), [])
      assert.ok(
        await stores.loginTokens.findByDigest(unaffected.digest, TIMEOUT_MS),
        'the token of another customer is gone',
      )
      await storedCustomer(stores, { email: customer.email })
    })

    sentence('an unknown id is reported as unknown', async ({ customers }) => {
      const id = randomUUID()
      assert.equal(
        await customers.setPasswordHash(id, 'hash', Date.now(), TIMEOUT_MS),
        null,
        'setPasswordHash',
      )
      assert.equal(await customers.disable(id, Date.now(), TIMEOUT_MS), null, 'disable')
      assert.equal(await customers.enable(id, TIMEOUT_MS), false, 'enable')
      assert.equal(await customers.delete(id, TIMEOUT_MS), false, 'delete')
    })

    sentence('of many parallel deletes one finds the customer', async (stores) => {
      const { id } = await storedCustomer(stores)
      const deletes = Array.from({ length: 20 }, () =>
        repeatUnavailable(() => stores.customers.delete(id, TIMEOUT_MS)),
      )
      assert.equal((await Promise.all(deletes)).filter(Boolean).length, 1)
    })

    sentence('many parallel disables count each token once', async (stores) => {
      const customer = await storedCustomer(stores)
      for (let count = 0; count < 5; count += 1) await namedToken(stores, customer)
      const disables = Array.from({ length: 20 }, () =>
        repeatUnavailable(() => stores.customers.disable(customer.id, Date.now(), TIMEOUT_MS)),
      )
      const counts = await Promise.all(disables)
      assert.equal(
        counts.reduce<number>((sum, count) => sum + (count ?? 0), 0),
        5,
      )
    })

    for (const ending of ['password', 'disable'] as const) {
      sentence(`no login outlives a ${ending} that it raced against`, async (stores) => {
        for (let round = 0; round < 10; round += 1) await raceEnding(stores, ending)
      })
    }

    disturbed(
      'stall',
      'while the database does not respond, every call rejects with `Unavailable` at its timeout',
      async (stores, stall) => {
        const { customers } = stores
        const { id, email } = await storedCustomer(stores)
        const one = () => ({ customer: aCustomer(), passwordHash: null })
        const calls: Record<keyof Customers, (timeoutMs: number) => unknown> = {
          findByEmail: (timeoutMs) => customers.findByEmail(email, timeoutMs),
          findById: (timeoutMs) => customers.findById(id, timeoutMs),
          add: (timeoutMs) => customers.add(one(), timeoutMs),
          addMany: (timeoutMs) => customers.addMany([one()], timeoutMs),
          list: (timeoutMs) => customers.list({ afterEmail: null, limit: 9 }, timeoutMs),
          setPasswordHash: (timeoutMs) => customers.setPasswordHash(id, 'hash', REVOKED_AT_MS, timeoutMs),
          changePassword: (timeoutMs) =>
            customers.changePassword(
              {
                customerId: id,
                verifiedHash: 'hash',
                passwordHash: 'new',
                keepTokenId: id,
                atMs: REVOKED_AT_MS,
              },
              timeoutMs,
            ),
          resetPassword: (timeoutMs) =>
            customers.resetPassword(
              {
                customerId: id,
                purpose: 'password-reset',
                digest: aDigest(),
                passwordHash: 'new',
                atMs: REVOKED_AT_MS,
              },
              timeoutMs,
            ),
          rehash: (timeoutMs) => customers.rehash(id, 'hash', 'other', timeoutMs),
          disable: (timeoutMs) => customers.disable(id, REVOKED_AT_MS, timeoutMs),
          enable: (timeoutMs) => customers.enable(id, timeoutMs),
          delete: (timeoutMs) => customers.delete(id, timeoutMs),
        }
        const resume = await stall()
        await assertUnavailable(calls).finally(resume)
      },
    )

    sentence('returned objects are frozen and do not change', async (stores) => {
      const customer = await storedCustomer(stores)
      const found = await stores.customers.findByEmail(customer.email, TIMEOUT_MS)
      const [listed] = await stores.customers.list({ afterEmail: null, limit: 1 }, TIMEOUT_MS)
      assert.ok(found && listed, 'the customer was not found')
      await stores.customers.disable(customer.id, Date.now(), TIMEOUT_MS)
      assert.equal(found.customer.disabledAtMs, null)
      assert.equal(listed.disabledAtMs, null)
      for (const [name, value] of Object.entries({ found, customer: found.customer, listed }))
        assert.ok(Object.isFrozen(value), name)
    })
  })
}

const REVOKED_AT_MS = 1_700_000_000_123

// Pairs that wider case folding or normalisation would treat as equal.
const LOOK_ALIKES = [
  ['k', '\u212a'], // Kelvin sign
  ['i', '\u0131'], // dotless i
  ['i', '\u0130'], // I with a dot
  ['s', '\u017f'], // long s
  ['ss', '\u00df'],
  ['a', '\uff41'], // full width
  ['\u00e9', '\u00c9'],
  ['\u00e9', 'e\u0301'],
  ['a', 'a\u00a0'],
  ['a', '\u0430'], // Cyrillic
] as const

function escaped(text: string): string {
  return text.replace(/[^ -~]/g, (character) => `U+${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

async function revokesAll(stores: Stores, end: (id: string) => Promise<number | null>): Promise<void> {
  const customer = await storedCustomer(stores)
  const other = await storedCustomer(stores)
  const earlier = await login(stores, customer, { createdAtMs: 1_600_000_000_000 })
  const tokens = [
    await login(stores, customer, { createdAtMs: 1_650_000_000_000 }),
    await namedToken(stores, customer),
    await namedToken(stores, customer, { expiresAtMs: 1_600_000_000_000 }),
  ]
  const unaffected = [await login(stores, other), await namedToken(stores, other)]

  assert.equal(await end(customer.id), tokens.length)
  assert.equal(await end(customer.id), 0)
  const revokedAtMs = async (digest: string) =>
    (await stores.loginTokens.findByDigest(digest, TIMEOUT_MS))?.token.revokedAtMs
  for (const { token, digest } of tokens) assert.equal(await revokedAtMs(digest), REVOKED_AT_MS, token.name)
  for (const { token, digest } of unaffected) assert.equal(await revokedAtMs(digest), null, token.name)
  // It was revoked before and keeps the first time.
  assert.equal(await revokedAtMs(earlier.digest), 1_650_000_000_000)
}
