import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { LoginTokens, TokenPage } from '../../application/ports/login-tokens.ts'
import { type LoginToken, tokenState } from '../../domain/login-token.ts'
import { type Admission, admitSession, type HeldSession } from '../../domain/session.ts'
import { aDigest, aLoginToken } from '../builders.ts'
import { assertRecovers, assertUnavailable } from '../holds.ts'
import { loginInRace, raceLogins } from '../races.ts'
import type { TestRunner } from '../runner.ts'
import {
  type CreateStores,
  login,
  namedToken,
  type StoredToken,
  sentencesOn,
  storedCustomer,
  TIMEOUT_MS,
  unrevoked,
} from '../stores.ts'

/**
 * The contract of `LoginTokens`: ids and times are returned as they were stored, a customer has one active login token,
 * expiry is exact to the millisecond; lists, revocation, last uses and pruning. It includes races: 64 parallel logins of
 * one customer, with and without logouts, 50 parallel logouts, 20 writers of one digest, readers against a revocation,
 * writers of last uses, and a lookup that is overtaken by a change, which a cache must not store. `create` returns empty
 * stores for each test; a call has a timeout of 30 s. Takes 0.2 s in memory, and 3 to 6 s on PostgreSQL.
 */
export function loginTokensContract(name: string, create: CreateStores, runner?: TestRunner): void {
  const { describe, sentence, disturbed } = sentencesOn(create, runner)
  describe(`${name} keeps the contract of LoginTokens:`, () => {
    sentence('a token is returned as it was stored, with its owner', async (stores) => {
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
        assert.equal(await stores.loginTokens.add(token, digest, TIMEOUT_MS), true, token.name)
        const found = await stores.loginTokens.findByDigest(digest, TIMEOUT_MS)
        assert.deepEqual({ token: found?.token, customer: found?.customer }, { token, customer })
      }
    })

    sentence('a login token is returned as it was stored', async (stores) => {
      const customer = await storedCustomer(stores)
      const { token, digest, accepted } = await login(stores, customer, { createdAtMs: 1_700_000_000_003 })
      assert.equal(accepted, true)
      assert.deepEqual((await stores.loginTokens.findByDigest(digest, TIMEOUT_MS))?.token, token)
    })

    sentence('an unknown digest finds nothing, even if it is similar', async (stores) => {
      const { digest } = await login(stores, await storedCustomer(stores))
      const near = digest.slice(0, -1) + (digest.endsWith('0') ? '1' : '0')
      for (const wrong of [aDigest(), near, `${near[63]}${near.slice(0, 63)}`]) {
        assert.equal(await stores.loginTokens.findByDigest(wrong, TIMEOUT_MS), null, wrong)
      }
    })

    sentence('a digest never belongs to a second token', async (stores) => {
      const customer = await storedCustomer(stores)
      const { token, digest } = await login(stores, customer)
      const other = await storedCustomer(stores)
      const before = await login(stores, other)
      const second = aLoginToken({ customerId: other.id })
      await assert.rejects(
        stores.loginTokens.add({ ...second, name: 'bot' }, digest, TIMEOUT_MS),
        'add stored a second token with the digest',
      )
      await assert.rejects(
        stores.loginTokens.replace({ token: second, digest, verifiedHash: other.passwordHash }, TIMEOUT_MS),
        'replace stored a second token with the digest',
      )
      assert.equal((await stores.loginTokens.findByDigest(digest, TIMEOUT_MS))?.token.id, token.id)
      // Neither half of the failed replacement happened.
      assert.deepEqual(sortedIds(await unrevoked(stores, other.id)), [before.token.id])
    })

    sentence('of many parallel writes of one digest one succeeds', async (stores) => {
      const customer = await storedCustomer(stores)
      const digest = aDigest()
      const attempts = Array.from({ length: 20 }, () =>
        stores.loginTokens.add(aLoginToken({ customerId: customer.id, name: 'bot' }), digest, TIMEOUT_MS),
      )
      const results = await Promise.allSettled(attempts)
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.equal((await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS)).length, 1)
    })

    sentence('a login revokes the earlier one at its own time, and nothing else', async (stores) => {
      const customer = await storedCustomer(stores)
      const bot = await namedToken(stores, customer)
      const stranger = await login(stores, await storedCustomer(stores))
      const earlier = await login(stores, customer, { createdAtMs: 1_700_000_000_001 })
      const later = await login(stores, customer, { createdAtMs: 1_700_000_000_777 })
      const revokedAtMs = async (digest: string) =>
        (await stores.loginTokens.findByDigest(digest, TIMEOUT_MS))?.token.revokedAtMs
      assert.equal(await revokedAtMs(earlier.digest), 1_700_000_000_777)
      for (const [name, { digest }] of Object.entries({ later, bot, stranger }))
        assert.equal(await revokedAtMs(digest), null, name)
    })

    sentence('a login returns the number of tokens that it revoked', async (stores) => {
      const customer = await storedCustomer(stores)
      const other = await storedCustomer(stores)
      await namedToken(stores, customer)
      for (const [before, revoked] of [0, 1, 1].entries())
        assert.equal((await login(stores, customer)).revoked, revoked, `after ${before} logins`)
      assert.equal((await login(stores, other)).revoked, 0)
      await stores.loginTokens.revokeByCustomer(customer.id, {}, Date.now(), TIMEOUT_MS)
      assert.equal((await login(stores, customer)).revoked, 0)
    })

    sentence('a login replaces an expired login token', async (stores) => {
      const customer = await storedCustomer(stores)
      await login(stores, customer, { createdAtMs: 1_600_000_000_000, expiresAtMs: 1_600_000_000_001 })
      const { token, accepted } = await login(stores, customer)
      assert.equal(accepted, true)
      assert.deepEqual(sortedIds(await unrevoked(stores, customer.id)), [token.id])
    })

    sentence('a login with a hash that is no longer the customer’s changes nothing', async (stores) => {
      const customer = await storedCustomer(stores)
      const { token } = await login(stores, customer)
      assert.equal((await login(stores, { ...customer, passwordHash: 'another' })).accepted, false)
      assert.deepEqual(sortedIds(await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS)), [
        token.id,
      ])
      assert.equal((await unrevoked(stores, customer.id)).length, 1)
    })

    sentence('a customer who is disabled, deleted or without a password cannot log in', async (stores) => {
      const { customers } = stores
      const disabled = await storedCustomer(stores)
      await customers.disable(disabled.id, Date.now(), TIMEOUT_MS)
      const gone = await storedCustomer(stores)
      await customers.delete(gone.id, TIMEOUT_MS)
      const without = await storedCustomer(stores, {})
      await customers.delete(without.id, TIMEOUT_MS)
      await customers.add({ customer: without, passwordHash: null }, TIMEOUT_MS)
      for (const [state, customer] of Object.entries({
        disabled,
        deleted: gone,
        'without a password': without,
      })) {
        const { digest, accepted } = await login(stores, customer)
        assert.equal(accepted, false, state)
        assert.equal(await stores.loginTokens.findByDigest(digest, TIMEOUT_MS), null, state)
      }
    })

    sentence('a disabled or deleted customer gets no named token', async (stores) => {
      const customer = await storedCustomer(stores)
      await stores.customers.disable(customer.id, Date.now(), TIMEOUT_MS)
      for (const [state, customerId] of Object.entries({ disabled: customer.id, deleted: randomUUID() })) {
        const token = aLoginToken({ customerId, name: 'bot' })
        assert.equal(await stores.loginTokens.add(token, aDigest(), TIMEOUT_MS), false, state)
        assert.deepEqual(await stores.loginTokens.listByCustomer(customerId, TIMEOUT_MS), [])
      }
    })

    sentence('64 parallel logins all succeed and leave one active token', async (stores) => {
      const customer = await storedCustomer(stores)
      const logins = await Promise.all(Array.from({ length: 64 }, () => loginInRace(stores, customer)))
      assert.ok(
        logins.every(({ accepted }) => accepted),
        'a login was refused',
      )
      const live = await unrevoked(stores, customer.id)
      assert.equal(live.length, 1)
      assert.ok(
        logins.some(({ token }) => token.id === live[0]?.id),
        'the active token was never issued',
      )
      const { length } = await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS)
      // A try whose reply was lost may have stored its token.
      const most = logins.reduce((sum, { tries }) => sum + tries, 0)
      assert.ok(length >= 64 && length <= most, `${length} tokens are stored`)
    })

    sentence('64 parallel logins mixed with logouts leave at most one active token', async (stores) => {
      for (let round = 0; round < 3; round += 1) await raceLogins(stores, 64)
    })

    sentence('a login with `admit` revokes, moves and takes the slots that it names', async (stores) => {
      const customer = await storedCustomer(stores)
      await namedToken(stores, customer)
      const held: HeldSession[][] = []
      const logInto = (admission: Admission | 'full', different: Partial<LoginToken> = {}) =>
        login(stores, customer, different, (sessions) => {
          held.push(sessions.toSorted((a, b) => a.slot - b.slot))
          return admission
        })
      const at = 1_700_000_000_000
      const a = await logInto({ slot: 3, revoked: [], moved: [] }, { createdAtMs: at, device: 'Zoë’s phone' })
      await stores.loginTokens.touch([{ id: a.token.id, atMs: at + 5 }], TIMEOUT_MS)
      const b = await logInto({ slot: 1, revoked: [], moved: [] }, { createdAtMs: at + 1 })
      const c = await logInto({ slot: 100, revoked: [], moved: [] }, { createdAtMs: at + 2 })
      assert.equal((await logInto('full')).revoked, 'full')
      assert.deepEqual(
        held.at(-1)?.map(({ id, slot, createdAtMs, expiresAtMs, lastUsedAtMs }) => {
          return { id, slot, createdAtMs, expiresAtMs, lastUsedAtMs }
        }),
        [b, a, c].map(({ token: { id, createdAtMs, expiresAtMs } }, index) => {
          const lastUsedAtMs = index === 1 ? at + 5 : null
          return { id, slot: [1, 3, 100][index], createdAtMs, expiresAtMs, lastUsedAtMs }
        }),
      )
      const d = await logInto(
        { slot: 3, revoked: [a.token.id, b.token.id], moved: [{ id: c.token.id, slot: 1 }] },
        { createdAtMs: at + 3 },
      )
      assert.equal(d.revoked, 2)
      assert.equal((await stores.loginTokens.findByDigest(a.digest, TIMEOUT_MS))?.token.revokedAtMs, at + 3)
      await logInto('full')
      assert.deepEqual(
        held.at(-1)?.map(({ id, slot }) => [id, slot]),
        [
          [c.token.id, 1],
          [d.token.id, 3],
        ],
      )
    })

    sentence('only the unrevoked login tokens are listed as sessions, newest first', async (stores) => {
      const customer = await storedCustomer(stores)
      await namedToken(stores, customer)
      await login(stores, await storedCustomer(stores))
      const at = 1_700_000_000_000
      const into = (slot: number, different: Partial<LoginToken>) =>
        login(stores, customer, different, () => ({ slot, revoked: [], moved: [] }))
      const first = await into(1, { createdAtMs: at, expiresAtMs: at + 1 })
      const second = await into(2, { createdAtMs: at + 1, device: 'a browser' })
      const gone = await into(3, { createdAtMs: at + 2 })
      await stores.loginTokens.revoke({ id: gone.token.id, digest: gone.digest }, at + 3, TIMEOUT_MS)
      const listed = await stores.loginTokens.listSessions(customer.id, TIMEOUT_MS)
      assert.deepEqual(listed, [second.token, first.token])
      assert.deepEqual(await stores.loginTokens.listSessions(randomUUID(), TIMEOUT_MS), [])
      const all = await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS)
      assert.equal(all.find(({ id }) => id === second.token.id)?.device, 'a browser')
    })

    sentence('two logins never hold one slot', async (stores) => {
      const customer = await storedCustomer(stores)
      const intoOne = () => ({ slot: 1, revoked: [], moved: [] })
      await login(stores, customer, {}, intoOne)
      await assert.rejects(login(stores, customer, {}, intoOne), 'a second login took the slot')
      assert.equal((await stores.loginTokens.listSessions(customer.id, TIMEOUT_MS)).length, 1)
    })

    for (const [max, whenFull] of [
      [3, 'replace'],
      [3, 'refuse'],
      [1, 'refuse'],
      [10, 'replace'],
    ] as const) {
      sentence(`of 64 parallel logins ${max} stay active with \`${whenFull}\``, async (stores) => {
        const customer = await storedCustomer(stores)
        const admit = (held: readonly HeldSession[]) => admitSession(held, { max, whenFull }, () => false)
        const logins = await Promise.all(
          Array.from({ length: 64 }, () => loginInRace(stores, customer, admit)),
        )
        const live = await stores.loginTokens.listSessions(customer.id, TIMEOUT_MS)
        assert.equal(live.length, max)
        const stored = logins.filter(({ accepted }) => accepted)
        assert.ok(
          live.every(({ id }) => stored.some(({ token }) => token.id === id)) || stored.length < 64,
          'an active token was never issued',
        )
        // A try whose reply was lost may have taken a slot.
        if (whenFull === 'refuse') assert.ok(stored.length <= max, `${stored.length} logins succeeded`)
        else assert.equal(stored.length, 64)
      })
    }

    sentence('tokens of all sessions but one are revoked', async (stores) => {
      const customer = await storedCustomer(stores)
      const bot = await namedToken(stores, customer)
      const into = (slot: number) => login(stores, customer, {}, () => ({ slot, revoked: [], moved: [] }))
      const sessions = [await into(1), await into(2), await into(3)]
      const exceptId = sessions[1]?.token.id ?? ''
      const chosen = { name: 'login', exceptId }
      assert.equal(await stores.loginTokens.revokeByCustomer(customer.id, chosen, Date.now(), TIMEOUT_MS), 2)
      assert.deepEqual(sortedIds(await unrevoked(stores, customer.id)), [exceptId, bot.token.id].sort())
    })

    sentence('of 50 parallel logouts one revokes the token', async (stores) => {
      const customer = await storedCustomer(stores)
      const { token, digest } = await login(stores, customer, { createdAtMs: 1_700_000_000_000 })
      const logouts = Array.from({ length: 50 }, (_, index) =>
        stores.loginTokens.revoke({ id: token.id, digest }, 1_700_000_001_000 + index * 1000, TIMEOUT_MS),
      )
      const revoked = await Promise.all(logouts)
      assert.equal(revoked.filter(Boolean).length, 1)
      const found = await stores.loginTokens.findByDigest(digest, TIMEOUT_MS)
      assert.equal(found?.token.revokedAtMs, 1_700_000_001_000 + revoked.indexOf(true) * 1000)
      assert.equal((await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS)).length, 1)
    })

    sentence('a revocation affects one token', async (stores) => {
      const customer = await storedCustomer(stores)
      const others = [await login(stores, customer), await namedToken(stores, customer)]
      const { token, digest } = await namedToken(stores, customer)
      assert.equal(await stores.loginTokens.revoke({ id: token.id, digest }, Date.now(), TIMEOUT_MS), true)
      assert.equal((await unrevoked(stores, customer.id)).length, others.length)
      const unknown = { id: randomUUID(), digest: aDigest() }
      assert.equal(await stores.loginTokens.revoke(unknown, Date.now(), TIMEOUT_MS), false)
    })

    sentence('a token expires at the exact millisecond', async (stores) => {
      const customer = await storedCustomer(stores)
      for (const [offsetMs, state, isRevoked] of [
        [-1, 'active', true],
        [0, 'expired', false],
        [1, 'expired', false],
      ] as const) {
        const { token, digest } = await login(stores, customer, { expiresAtMs: 1_900_000_000_123 })
        const found = await stores.loginTokens.findByDigest(digest, TIMEOUT_MS)
        assert.equal(found && tokenState(found.token, 1_900_000_000_123 + offsetMs), state, `${offsetMs} ms`)
        const revoking = stores.loginTokens.revoke(
          { id: token.id, digest },
          1_900_000_000_123 + offsetMs,
          TIMEOUT_MS,
        )
        assert.equal(await revoking, isRevoked, `${offsetMs} ms`)
      }
    })

    sentence(
      'a read that begins after a revocation sees it, and one that ended before does not',
      async (stores) => {
        const customer = await storedCustomer(stores)
        for (let round = 0; round < 10; round += 1) {
          const { token, digest } = await login(stores, customer)
          let phase: 'before' | 'during' | 'after' = 'before'
          const read = async () => {
            const began = phase
            const found = await stores.loginTokens.findByDigest(digest, TIMEOUT_MS)
            assert.ok(found, `${began}: the token was not found`)
            if (began === 'after') assert.notEqual(found.token.revokedAtMs, null, began)
            if (phase === 'before') assert.equal(found.token.revokedAtMs, null, phase)
          }
          const readers = Array.from({ length: 4 }, async () => {
            for (let reads = 0; reads < 15; reads += 1) await read()
          })
          await read()
          phase = 'during'
          await stores.loginTokens.revoke({ id: token.id, digest }, Date.now(), TIMEOUT_MS)
          phase = 'after'
          await read()
          await Promise.all(readers)
        }
      },
    )

    sentence('a lookup that is overtaken by a change is not reused by later lookups', async (stores) => {
      const { loginTokens } = stores
      const customer = await storedCustomer(stores)
      for (let round = 0; round < 24; round += 1) {
        const { token, digest } = await login(stores, customer)
        // The first lookup: no cache can have the token yet.
        const overtaken = Promise.resolve(loginTokens.findByDigest(digest, TIMEOUT_MS))
        for (let turn = 0; turn < round % 4; turn += 1) await setImmediate()
        if (round % 2 === 0) await login(stores, customer)
        else await loginTokens.revoke({ id: token.id, digest }, Date.now(), TIMEOUT_MS)
        const isRevoked = async () =>
          typeof (await loginTokens.findByDigest(digest, TIMEOUT_MS))?.token.revokedAtMs === 'number'
        // Not in each round: a lookup now is current, and its result may overwrite a cached stale one.
        if (round % 3 === 0) assert.ok(await isRevoked(), 'a lookup shared the result from before the change')
        assert.ok(await overtaken, 'the overtaken lookup found nothing')
        assert.ok(await isRevoked(), 'the result from before the change was cached')
      }
    })

    sentence('a customer’s tokens are listed newest first, in any state', async (stores) => {
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
        await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS),
        [third, second, first].map(({ token }) => token),
      )
      assert.deepEqual(await stores.loginTokens.listByCustomer(randomUUID(), TIMEOUT_MS), [])
    })

    sentence(
      'pages list every token once, ordered by the owners’ e-mails, then newest first',
      async (stores) => {
        const created: StoredToken[] = []
        for (const email of ['Zoe@example.com', 'ana@example.com', 'Bo@example.com', 'ñ@example.com']) {
          const customer = await storedCustomer(stores, { email })
          for (const createdAtMs of [1_700_000_000_002, 1_700_000_000_002, 1_700_000_000_003, 1])
            created.push(await namedToken(stores, customer, { createdAtMs }))
        }
        await storedCustomer(stores)
        for (const limit of [1, 3, 4, 16, 17]) {
          const listed: { readonly token: LoginToken; readonly ownerEmail: string }[] = []
          for (let after: string | null = null, pages = 0; pages <= created.length; pages += 1) {
            const page = await stores.loginTokens.list({ after, limit }, TIMEOUT_MS)
            assert.ok(page.tokens.length <= limit, `a page of ${page.tokens.length}, not ${limit}`)
            listed.push(...page.tokens)
            after = page.end
            if (after === null) break
          }
          assert.deepEqual(
            listed.map(({ ownerEmail, token }) => [ownerEmail, token.createdAtMs]),
            ['ana@example.com', 'Bo@example.com', 'Zoe@example.com', 'ñ@example.com'].flatMap((email) =>
              [1_700_000_000_003, 1_700_000_000_002, 1_700_000_000_002, 1].map((atMs) => [email, atMs]),
            ),
          )
          assert.deepEqual(
            sortedIds(listed.map(({ token }) => token)),
            sortedIds(created.map(({ token }) => token)),
          )
        }
      },
    )

    sentence(
      'a page continues where the last one ended, even if its last token was deleted',
      async (stores) => {
        const customer = await storedCustomer(stores)
        const [newest, ended, oldest] = [
          await namedToken(stores, customer, { createdAtMs: 3000 }),
          await namedToken(stores, customer, { createdAtMs: 2000, revokedAtMs: 2001 }),
          await namedToken(stores, customer, { createdAtMs: 1000 }),
        ].map(({ token }) => token.id)
        const first = await stores.loginTokens.list({ after: null, limit: 2 }, TIMEOUT_MS)
        assert.deepEqual(listedIn(first), [newest, ended])
        assert.equal(await stores.loginTokens.prune(2002, 10, TIMEOUT_MS), 1)
        const second = await stores.loginTokens.list({ after: first.end, limit: 2 }, TIMEOUT_MS)
        assert.deepEqual(listedIn(second), [oldest])
      },
    )

    sentence(
      'a customer’s tokens of a name, one token or all are revoked, and no other customer’s',
      async (stores) => {
        const customer = await storedCustomer(stores)
        const other = await namedToken(stores, await storedCustomer(stores))
        const first = await namedToken(stores, customer)
        await namedToken(stores, customer, { expiresAtMs: null })
        await namedToken(stores, customer, { revokedAtMs: 1_700_000_001_000 })
        const importer = await namedToken(stores, customer, { name: 'importer' })
        await login(stores, customer)
        const { loginTokens } = stores
        assert.equal(
          await loginTokens.revokeByCustomer(customer.id, { name: 'other' }, 1_700_000_009_000, TIMEOUT_MS),
          0,
        )
        assert.equal(
          await loginTokens.revokeByCustomer(customer.id, { name: 'bot' }, 1_700_000_009_000, TIMEOUT_MS),
          2,
        )
        const found = await loginTokens.findByDigest(first.digest, TIMEOUT_MS)
        assert.equal(found?.token.revokedAtMs, 1_700_000_009_000)
        assert.deepEqual((await unrevoked(stores, customer.id)).map(({ name }) => name).sort(), [
          'importer',
          'login',
        ])
        const one = await namedToken(stores, customer, { name: 'importer' })
        const { id } = one.token
        const tenthMs = 1_700_000_010_000
        assert.equal(
          await loginTokens.revokeByCustomer(customer.id, { name: 'bot', id }, tenthMs, TIMEOUT_MS),
          0,
        )
        assert.equal(
          await loginTokens.revokeByCustomer(other.token.customerId, { id }, tenthMs, TIMEOUT_MS),
          0,
        )
        assert.equal(await loginTokens.revokeByCustomer(customer.id, { id }, tenthMs, TIMEOUT_MS), 1)
        assert.equal(await loginTokens.revokeByCustomer(customer.id, { id }, tenthMs + 1, TIMEOUT_MS), 0)
        assert.equal((await loginTokens.findByDigest(one.digest, TIMEOUT_MS))?.token.revokedAtMs, tenthMs)
        assert.equal((await loginTokens.findByDigest(importer.digest, TIMEOUT_MS))?.token.revokedAtMs, null)
        assert.equal(await loginTokens.revokeByCustomer(customer.id, {}, tenthMs, TIMEOUT_MS), 2)
        assert.equal(await loginTokens.revokeByCustomer(customer.id, {}, 1_700_000_011_000, TIMEOUT_MS), 0)
        const later = await loginTokens.findByDigest(importer.digest, TIMEOUT_MS)
        assert.equal(later?.token.revokedAtMs, 1_700_000_010_000)
        assert.equal(await loginTokens.revokeByCustomer(randomUUID(), {}, 1, TIMEOUT_MS), 0)
        assert.equal((await loginTokens.findByDigest(other.digest, TIMEOUT_MS))?.token.revokedAtMs, null)
      },
    )

    sentence('parallel revocations of a customer’s tokens count each token once', async (stores) => {
      const customer = await storedCustomer(stores)
      for (let count = 0; count < 10; count += 1) await namedToken(stores, customer)
      const calls = Array.from({ length: 20 }, () =>
        stores.loginTokens.revokeByCustomer(customer.id, { name: 'bot' }, Date.now(), TIMEOUT_MS),
      )
      const counts = await Promise.all(calls)
      assert.equal(
        counts.reduce((sum, count) => sum + count),
        10,
      )
      assert.deepEqual(await unrevoked(stores, customer.id), [])
    })

    sentence(
      'tokens created before a time are revoked for every customer, and none created at it',
      async (stores) => {
        const customers = [await storedCustomer(stores), await storedCustomer(stores)]
        const newest: StoredToken[] = []
        for (const customer of customers) {
          await namedToken(stores, customer, { createdAtMs: 1_700_000_000_000 })
          await login(stores, customer, { createdAtMs: 1_700_000_000_001 })
          newest.push(await namedToken(stores, customer, { createdAtMs: 1_700_000_000_002 }))
        }
        const { loginTokens } = stores
        const calls = [1, 2, 3].map(() =>
          loginTokens.revokeIssuedBefore(1_700_000_000_002, 2e12, { timeoutMs: TIMEOUT_MS }),
        )
        const counts = await Promise.all(calls)
        assert.equal(
          counts.reduce((sum, count) => sum + count),
          4,
        )
        for (const [index, { id }] of customers.entries())
          assert.deepEqual(await unrevoked(stores, id), [newest[index]?.token])
        const all = await loginTokens.listByCustomer(customers[0]?.id ?? '', TIMEOUT_MS)
        assert.deepEqual(
          all.map(({ revokedAtMs }) => revokedAtMs),
          [null, 2e12, 2e12],
        )
      },
    )

    sentence(
      'a revocation by age reports its steps, and begins no step after cancellation',
      async (stores) => {
        const customer = await storedCustomer(stores)
        for (let count = 0; count < 3; count += 1) await namedToken(stores, customer, { createdAtMs: 1 })
        const { loginTokens } = stores
        const steps: number[] = []
        const onStep = (revoked: number) => void steps.push(revoked)
        const cancelled = AbortSignal.abort(new Error('cancelled'))
        await assert.rejects(
          loginTokens.revokeIssuedBefore(2, 3, { timeoutMs: TIMEOUT_MS, onStep, signal: cancelled }),
          /^Error: cancelled$/,
          'a step began after the cancellation',
        )
        assert.deepEqual(steps, [])
        assert.equal((await unrevoked(stores, customer.id)).length, 3)
        assert.equal(
          await loginTokens.revokeIssuedBefore(2, 3, { timeoutMs: TIMEOUT_MS, onStep, signal: null }),
          3,
        )
        assert.equal(
          steps.reduce((sum, count) => sum + count, 0),
          3,
        )
      },
    )

    sentence('a last use only moves forward, and lookups and lists return it', async (stores) => {
      const customer = await storedCustomer(stores)
      const { token, digest } = await namedToken(stores, customer)
      const other = await namedToken(stores, customer)
      const { loginTokens } = stores
      const lastUsedAtMs = async () =>
        new Map(
          (await loginTokens.listByCustomer(customer.id, TIMEOUT_MS)).map((of) => [of.id, of.lastUsedAtMs]),
        )
      for (const [atMs, expected] of [
        [1_700_000_000_005, 1_700_000_000_005],
        [1_700_000_000_004, 1_700_000_000_005],
        [1_700_000_000_006, 1_700_000_000_006],
      ] as const) {
        const unknown = { id: randomUUID(), atMs }
        assert.deepEqual(await loginTokens.touch([unknown, { id: token.id, atMs }], TIMEOUT_MS), [])
        assert.equal((await lastUsedAtMs()).get(token.id), expected, `after a use at ${atMs}`)
      }
      assert.equal((await lastUsedAtMs()).get(other.token.id), null)
      const { tokens } = await loginTokens.list({ after: null, limit: 9 }, TIMEOUT_MS)
      assert.deepEqual(
        tokens.map((of) => of.token.lastUsedAtMs),
        (await loginTokens.listByCustomer(customer.id, TIMEOUT_MS)).map((of) => of.lastUsedAtMs),
      )
      const twice = [9, 7].map((more) => ({ id: token.id, atMs: 1_700_000_000_000 + more }))
      await loginTokens.touch(twice, TIMEOUT_MS)
      assert.equal((await lastUsedAtMs()).get(token.id), 1_700_000_000_009)
      assert.deepEqual(await loginTokens.touch([], TIMEOUT_MS), [])
      // The first lookup: no cache has the token yet.
      const found = await loginTokens.findByDigest(digest, TIMEOUT_MS)
      assert.equal(found?.token.lastUsedAtMs, 1_700_000_000_009)
    })

    sentence('a use that is not later by `minAdvanceMs` is not written', async (stores) => {
      const customer = await storedCustomer(stores)
      const { token } = await namedToken(stores, customer)
      const at = 1_700_000_000_000
      for (const [offsetMs, expectedMs] of [
        [0, 0],
        [44_999, 0],
        [45_000, 45_000],
        [89_999, 45_000],
      ] as const) {
        const use = { id: token.id, atMs: at + offsetMs, minAdvanceMs: 45_000 }
        assert.deepEqual(await stores.loginTokens.touch([use], TIMEOUT_MS), [])
        const [listed] = await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS)
        assert.equal(listed?.lastUsedAtMs, at + expectedMs, `after a use at ${offsetMs} ms`)
      }
    })

    sentence('login tokens that were created and used before a time are revoked as idle', async (stores) => {
      const at = 1_700_000_000_000
      const expected: string[] = []
      let idle = 0
      for (const [createdAtMs, lastUsedAtMs, isIdle] of [
        [at - 2, null, true],
        [at - 2, at - 1, true],
        [at - 2, at, false],
        [at, null, false],
      ] as const) {
        for (let count = 0; count < 3; count += 1) {
          const customer = await storedCustomer(stores)
          const { token } = await login(stores, customer, { createdAtMs })
          const bot = await namedToken(stores, customer, { createdAtMs })
          if (lastUsedAtMs !== null)
            await stores.loginTokens.touch([{ id: token.id, atMs: lastUsedAtMs }], TIMEOUT_MS)
          expected.push(bot.token.id)
          if (isIdle) idle += 1
          else expected.push(token.id)
        }
      }
      let [revoked, steps] = [0, 0]
      for (let after: string | null = null; ; ) {
        const step = await stores.loginTokens.revokeIdle(
          { unusedSinceMs: at, atMs: at + 7, after, limit: 5 },
          TIMEOUT_MS,
        )
        revoked += step.revoked
        steps += 1
        assert.ok(steps < 100, 'the walk does not end')
        if (step.end === null) break
        after = step.end
      }
      assert.equal(revoked, idle)
      const page = await stores.loginTokens.list({ after: null, limit: 99 }, TIMEOUT_MS)
      const live = page.tokens.map(({ token }) => token).filter(({ revokedAtMs }) => revokedAtMs === null)
      assert.deepEqual(sortedIds(live), expected.toSorted())
      for (const { token } of page.tokens)
        assert.ok(token.revokedAtMs === null || token.revokedAtMs === at + 7, token.name)
    })

    sentence('parallel writes of last uses leave the latest', async (stores) => {
      const customer = await storedCustomer(stores)
      const all: StoredToken[] = []
      for (let count = 0; count < 5; count += 1) all.push(await namedToken(stores, customer))
      const write = async (atMs: number): Promise<void> => {
        let ids: readonly string[] = all.map(({ token }) => token.id)
        if (atMs % 2000 === 0) ids = ids.toReversed()
        for (let tries = 0; ids.length > 0; tries += 1) {
          assert.ok(tries < 1000, 'rows are reported as locked forever')
          const uses = ids.map((id) => ({ id, atMs }))
          ids = await stores.loginTokens.touch(uses, TIMEOUT_MS)
        }
      }
      await Promise.all(Array.from({ length: 20 }, (_, index) => write(1_700_000_000_000 + index * 1000)))
      for (const { lastUsedAtMs } of await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS))
        assert.equal(lastUsedAtMs, 1_700_000_019_000)
    })

    sentence(
      'tokens revoked or expired before a time are pruned, up to the limit at a time',
      async (stores) => {
        const customer = await storedCustomer(stores)
        const at = 1_700_000_000_000
        for (const different of [
          { expiresAtMs: at },
          { expiresAtMs: null },
          { expiresAtMs: at + 1, revokedAtMs: at },
          { expiresAtMs: null, revokedAtMs: at + 1 },
        ])
          await namedToken(stores, customer, { name: 'recent', ...different })
        for (const different of [
          { expiresAtMs: at - 1 },
          { expiresAtMs: at + 1, revokedAtMs: at - 1 },
          { expiresAtMs: null, revokedAtMs: at - 1 },
          { expiresAtMs: at - 1, revokedAtMs: at + 1 },
          { expiresAtMs: 1, revokedAtMs: 1 },
        ])
          await namedToken(stores, customer, { name: 'ended', ...different })
        const counts: (number | null)[] = []
        while (counts.at(-1) !== 0 && counts.length < 9)
          counts.push(await stores.loginTokens.prune(at, 2, TIMEOUT_MS))
        assert.deepEqual(counts, [2, 2, 1, 0])
        const left = await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS)
        assert.deepEqual(
          left.map(({ name }) => name),
          ['recent', 'recent', 'recent', 'recent'],
        )
      },
    )

    sentence('parallel prunes count each token once, and at least one of them prunes', async (stores) => {
      const customer = await storedCustomer(stores)
      const tokens = Array.from({ length: 30 }, () => namedToken(stores, customer, { expiresAtMs: 1 }))
      await Promise.all(tokens)
      let pruned = 0
      while (pruned < 30) {
        const calls = Array.from({ length: 5 }, () => stores.loginTokens.prune(2, 4, TIMEOUT_MS))
        const counts = await Promise.all(calls)
        assert.ok(
          counts.some((count) => count !== null && count > 0),
          `no call pruned: ${counts}`,
        )
        pruned += counts.reduce<number>((sum, count) => sum + (count ?? 0), 0)
        assert.equal((await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS)).length, 30 - pruned)
      }
    })

    disturbed(
      'stall',
      'while the database does not respond, every call rejects with `Unavailable` at its timeout',
      async (stores, stall) => {
        const { loginTokens } = stores
        const customer = await storedCustomer(stores)
        const { token, digest } = await login(stores, customer)
        const other = () => aLoginToken({ customerId: customer.id })
        const atMs = Date.now()
        const calls: Record<keyof LoginTokens, (timeoutMs: number) => unknown> = {
          findByDigest: (timeoutMs) => loginTokens.findByDigest(digest, timeoutMs),
          listByCustomer: (timeoutMs) => loginTokens.listByCustomer(customer.id, timeoutMs),
          list: (timeoutMs) => loginTokens.list({ after: null, limit: 9 }, timeoutMs),
          replace: (timeoutMs) =>
            loginTokens.replace(
              { token: other(), digest: aDigest(), verifiedHash: customer.passwordHash },
              timeoutMs,
            ),
          add: (timeoutMs) => loginTokens.add(other(), aDigest(), timeoutMs),
          revoke: (timeoutMs) => loginTokens.revoke({ id: token.id, digest }, atMs, timeoutMs),
          revokeByCustomer: (timeoutMs) => loginTokens.revokeByCustomer(customer.id, {}, atMs, timeoutMs),
          revokeIssuedBefore: (timeoutMs) => loginTokens.revokeIssuedBefore(atMs, atMs, { timeoutMs }),
          touch: (timeoutMs) => loginTokens.touch([{ id: token.id, atMs }], timeoutMs),
          prune: (timeoutMs) => loginTokens.prune(atMs, 9, timeoutMs),
          listSessions: (timeoutMs) => loginTokens.listSessions(customer.id, timeoutMs),
          revokeIdle: (timeoutMs) =>
            loginTokens.revokeIdle({ unusedSinceMs: atMs, atMs, after: null, limit: 9 }, timeoutMs),
        }
        const resume = await stall()
        await assertUnavailable(calls).finally(resume)
      },
    )

    disturbed(
      'stall',
      'after 40 calls that timed out, the next ones succeed as soon as the database responds',
      async (stores, stall) => {
        const { digest } = await login(stores, await storedCustomer(stores))
        const find = (timeoutMs: number) => stores.loginTokens.findByDigest(digest, timeoutMs)
        const resume = await stall()
        const calls = Array.from({ length: 40 }, (_, index) => [`call ${index}`, find] as const)
        await assertUnavailable(Object.fromEntries(calls)).finally(resume)
        await assertRecovers(find)
      },
    )

    disturbed(
      'lockToken',
      'a change of a locked token rejects with `Unavailable` at its timeout',
      async (stores, lockToken) => {
        const customer = await storedCustomer(stores)
        const { token, digest } = await login(stores, customer)
        const atMs = Date.now()
        const revoke = (timeoutMs: number) =>
          stores.loginTokens.revoke({ id: token.id, digest }, atMs, timeoutMs)
        const unlock = await lockToken(token.id)
        await assertUnavailable({
          revoke,
          revokeByCustomer: (timeoutMs) =>
            stores.loginTokens.revokeByCustomer(customer.id, {}, atMs, timeoutMs),
          disable: (timeoutMs) => stores.customers.disable(customer.id, atMs, timeoutMs),
        }).finally(unlock)
        await assertRecovers(revoke)
        assert.deepEqual(await unrevoked(stores, customer.id), [])
      },
    )

    disturbed(
      'lockToken',
      'a last use does not wait for a locked token: its id is returned, and it can be written later',
      async (stores, lockToken) => {
        const customer = await storedCustomer(stores)
        const { id } = (await namedToken(stores, customer)).token
        const touch = () => stores.loginTokens.touch([{ id, atMs: 1_700_000_000_000 }], WAITED_MS)
        const unlock = await lockToken(id)
        const locked = await touch().finally(unlock)
        assert.deepEqual(locked, [id])
        assert.deepEqual(await touch(), [])
        const [listed] = await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS)
        assert.equal(listed?.lastUsedAtMs, 1_700_000_000_000)
      },
    )

    disturbed(
      'holdPrune',
      'while another process prunes, a prune returns null and deletes nothing',
      async (stores, holdPrune) => {
        const customer = await storedCustomer(stores)
        for (let count = 0; count < 3; count += 1) await namedToken(stores, customer, { expiresAtMs: 1 })
        const prune = () => stores.loginTokens.prune(2, 9, TIMEOUT_MS)
        const end = await holdPrune()
        const pruned = await prune().finally(end)
        assert.equal(pruned, null)
        assert.equal((await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS)).length, 3)
        assert.equal(await prune(), 3)
      },
    )

    sentence('returned objects are frozen and do not change', async (stores) => {
      const customer = await storedCustomer(stores)
      const abilities = ['orders:read']
      const { token, digest } = await namedToken(stores, customer, { abilities })
      abilities.push('*')
      const found = await stores.loginTokens.findByDigest(digest, TIMEOUT_MS)
      const [listed] = await stores.loginTokens.listByCustomer(customer.id, TIMEOUT_MS)
      assert.ok(found && listed, 'the token was not found')
      await stores.loginTokens.revoke({ id: token.id, digest }, Date.now(), TIMEOUT_MS)
      assert.equal(found.token.revokedAtMs, null)
      assert.equal(listed.revokedAtMs, null)
      assert.deepEqual(found.token.abilities, ['orders:read'])
      const { token: foundToken, customer: owner } = found
      const returned = { found, token: foundToken, abilities: foundToken.abilities, owner, listed }
      for (const [name, value] of Object.entries(returned)) assert.ok(Object.isFrozen(value), name)
    })
  })
}

function sortedIds(tokens: readonly LoginToken[]): readonly string[] {
  return tokens.map(({ id }) => id).sort()
}

function listedIn({ tokens }: TokenPage): readonly string[] {
  return tokens.map(({ token }) => token.id)
}

/** A write of last uses that waits for a lock rejects after this, in milliseconds. */
const WAITED_MS = 2000

const ODD_ABILITIES = ['orders:read', '', 'NULL', '{}', 'a,b', 'a"b', 'a\\b', ' ', '🦊', 'orders:read']
