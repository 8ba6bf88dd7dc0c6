import assert from 'node:assert/strict'
import type { HashingRequest, HashingSlot, PasswordHasher } from '../../application/ports/password-hasher.ts'
import { Unavailable } from '../../domain/errors.ts'
import { isWholePasswordHash } from '../../domain/password.ts'
import { type TestRunner, withTimeout } from '../runner.ts'

/** `correct horse 9`, `" hunter2 "` and 100 × `p` by crypt(3), at cost 4 and 10. */
const VECTORS = [
  ['correct horse 9', '$2y$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'],
  ['correct horse 9', '$2b$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'],
  ['correct horse 9', '$2a$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'],
  ['correct horse 9', '$2y$10$abcdefghijklmnopqrstuuG9vgRxibBkoVPvz73E3.IaYK../N/AO'],
  [' hunter2 ', '$2y$04$abcdefghijklmnopqrstuui.ptP7RN6GmuQ5A5kQERWyZLUDKJdcK'],
  ['p'.repeat(100), '$2y$04$abcdefghijklmnopqrstuuNt.0ah97gHY3F7JC1Z6EXmQc0bQBhIO'],
] as const

/** `correct horse 9`, 100 × `p` and 300 × `€` in Django's form: crypt(3) of the SHA-256 in hexadecimal digits. */
const SHA256_VECTORS = [
  ['correct horse 9', 'bcrypt_sha256$$2b$04$abcdefghijklmnopqrstuu3pjrqtjJBMAsF7Q7cfcvglnnoJFYECK'],
  ['p'.repeat(100), 'bcrypt_sha256$$2b$04$abcdefghijklmnopqrstuunXqOeIOsRn7g3pVjXKReUyL7p1G3T5a'],
  ['€'.repeat(300), 'bcrypt_sha256$$2b$04$abcdefghijklmnopqrstuuYMVvv3sBvKRf1on/1H/jLI3AOzq.U1q'],
  ['correct horse 9', 'bcrypt_sha256$$2b$10$abcdefghijklmnopqrstuupw5XvQ2AuXHszrA1oaIy52kK94J8bBm'],
] as const

/**
 * The contract of `PasswordHasher`: bcrypt hashes of other systems are verified, passwords are compared exactly, a
 * damaged hash matches no password, and the queue has a limited number of slots, which it shares fairly between sources;
 * 40 passwords are verified at once. `create` returns a hasher whose new hashes have this cost, from 4 to 12. It is called
 * often, and the queues of two hashers are independent. `isWhole` returns whether a text is a complete new hash, for an
 * adapter whose new hashes are not of bcrypt. Takes 2 s on two threads.
 */
export function passwordHasherContract(
  name: string,
  create: (cost: number) => PasswordHasher,
  runner?: TestRunner,
  { isWhole = isWholePasswordHash }: { readonly isWhole?: (passwordHash: string) => boolean } = {},
): void {
  const isBcrypt = isWhole === isWholePasswordHash
  const { describe, it } = withTimeout(runner)
  describe(`${name} keeps the contract of PasswordHasher:`, () => {
    const hasher = create(4)
    const passwords = hasher.queue(aRequest())

    for (const [password, hash] of VECTORS) {
      it(`the imported hash ${hash.slice(0, 7)}… of ${password.length} characters is verified`, async () => {
        assert.equal(await passwords.verify(password, hash), true)
        for (const wrong of [password.slice(1, 60), password.toUpperCase(), `x${password}`, '']) {
          assert.equal(await passwords.verify(wrong, hash), false, JSON.stringify(wrong))
        }
      })
    }

    it('a password is compared exactly: not trimmed, folded or normalised', async () => {
      const hash = await passwords.hash(' Añb ')
      assert.equal(await passwords.verify(' Añb ', hash), true)
      for (const wrong of [
        'Añb',
        ' Añb',
        'Añb ',
        ' añb ',
        ' Anb ',
        ' An\u0303b ',
        '\u00a0Añb\u00a0',
        ' Añb \n',
      ]) {
        assert.equal(await passwords.verify(wrong, hash), false, JSON.stringify(wrong))
      }
    })

    it('a hash is whole and has the configured cost and a unique salt', async () => {
      for (const cost of [4, 5, 6]) {
        const hashes = await Promise.all([1, 2, 3].map(() => create(cost).hash('password')))
        assert.equal(new Set(hashes).size, 3, `cost ${cost}`)
        for (const hash of hashes) {
          assert.ok(isWhole(hash), hash)
          if (isBcrypt) assert.equal(hash.slice(3, 7), `$0${cost}$`)
          assert.equal(await passwords.verify('password', hash), true, hash)
        }
      }
    })

    it('bits that belong to neither salt nor digest are ignored', async () => {
      const [password, hash] = VECTORS[1]
      const spare = `${hash.slice(0, 28)}v${hash.slice(29, -1)}x`
      for (const same of [`${hash.slice(0, 28)}v${hash.slice(29)}`, spare]) {
        assert.ok(isWholePasswordHash(same), same)
        assert.equal(await passwords.verify(password, same), true, same)
        assert.equal(await passwords.verify(`x${password}`, same), false, same)
      }
      // These bits belong to the digest.
      assert.equal(await passwords.verify(password, `${hash.slice(0, -1)}y`), false)
    })

    it('a hash of a lower, the same or a higher cost is verified', async () => {
      const hash = await create(5).hash('password')
      for (const cost of [4, 5, 6, 8]) {
        const slot = create(cost).queue(aRequest())
        assert.equal(await slot.verify('password', hash), true, `cost ${cost}`)
        assert.equal(await slot.verify('Password', hash), false, `cost ${cost}`)
      }
    })

    for (const [password, hash] of SHA256_VECTORS) {
      it(`the imported hash ${hash.slice(0, 21)}… of ${password.length} characters is verified`, async () => {
        assert.equal(await passwords.verify(password, hash), true)
        for (const wrong of [password.slice(1), password.slice(0, -1), `${password}x`, ''])
          assert.equal(await passwords.verify(wrong, hash), false, JSON.stringify(wrong))
      })
    }

    it('every byte of a longer password counts, and its new hash is whole', async () => {
      for (const long of ['p'.repeat(73), '€'.repeat(341), `${'p'.repeat(72)}\u00e9`]) {
        const hash = await passwords.hash(long)
        assert.ok(isWhole(hash), hash)
        assert.equal(await passwords.verify(long, hash), true)
        for (const wrong of [`${long}x`, long.slice(0, -1), long.slice(0, 72), `${long.slice(0, -1)}x`])
          assert.equal(await passwords.verify(wrong, hash), false, wrong)
      }
    })

    it('a replaced hash keeps its form and gets the configured cost', async () => {
      const dearer = create(5)
      const slot = dearer.queue(aRequest())
      for (const [password, hash] of [VECTORS[0], VECTORS[5], SHA256_VECTORS[0], SHA256_VECTORS[1]]) {
        const renewed = await slot.rehash(password, hash)
        if (renewed === null) continue
        assert.ok(isWhole(renewed), renewed)
        assert.equal(dearer.isDated(renewed), false)
        if (isBcrypt) {
          assert.equal(renewed.startsWith('bcrypt_sha256$'), hash.startsWith('bcrypt_sha256$'), renewed)
          assert.equal(renewed.slice(-57, -53), '$05$')
        }
        assert.equal(await passwords.verify(password, renewed), true)
        assert.equal(await passwords.verify(`x${password}`, renewed), false)
        // The plain form accepts any ending, as before: a mistyped one must not become the password.
        const isPlain = hash.length === 60 && password.length > 72
        assert.equal(await passwords.verify(`${password}x`, renewed), isPlain)
      }
    })

    const itOfBcrypt = isBcrypt ? it : () => {}
    itOfBcrypt('exactly the first 72 bytes of a password count for a plain hash', async () => {
      for (const full of ['p'.repeat(72), '€'.repeat(24), '🦊'.repeat(18)]) {
        const hash = await passwords.hash(full)
        assert.equal(await passwords.verify(full, hash), true, full)
        assert.equal(await passwords.verify(`${full}X`, hash), true, `${full}X`)
      }
      const hash = await passwords.hash(`${'p'.repeat(71)}a`)
      assert.equal(await passwords.verify(`${'p'.repeat(71)}b`, hash), false)
      assert.equal(await passwords.verify('p'.repeat(71), hash), false)
    })

    it('a missing or damaged hash matches no password and throws no error', async () => {
      const hash = VECTORS[1][1]
      for (const damaged of [
        null,
        '',
        hash.slice(0, -1),
        `${hash} `,
        `${hash}\n`,
        `${hash}\u0000junk`,
        hash.replace('$2b$', '$2x$'),
        hash.replace('$04$', '$03$'),
        hash.replace('$04$', '$31$'),
        hash.replace('abc', 'a€c'),
        '5f4dcc3b5aa765d61d8327deb882cf99',
        'correct horse 9',
      ]) {
        assert.equal(await passwords.verify('correct horse 9', damaged), false, JSON.stringify(damaged))
        assert.equal(await passwords.verify('', damaged), false, JSON.stringify(damaged))
      }
    })

    // The time of a verification must not reveal who has a password.
    it('a missing, a damaged and a cheaper hash take as long as the configured cost', async () => {
      const slot = create(10).queue(aRequest())
      const same = VECTORS[3][1]
      const all = [null, same.slice(0, -1), VECTORS[1][1], SHA256_VECTORS[0][1], SHA256_VECTORS[3][1]]
      for (const other of all) {
        let [full, ms] = [Number.POSITIVE_INFINITY, 0]
        // A busy machine can delay either measurement. A verification that skips the work is short in every attempt.
        for (let attempt = 1; attempt <= 5 && ms <= full / 2; attempt++) {
          full = await shortestMs(() => slot.verify('wrong', same))
          ms = await shortestMs(() => slot.verify('wrong', other))
        }
        assert.ok(ms > full / 2, `${JSON.stringify(other)}: ${ms} of ${full} ms`)
      }
    })

    it('parallel verifications each return their own result', async () => {
      const hash = VECTORS[0][1]
      const results = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          passwords.verify(index % 2 === 0 ? 'correct horse 9' : `wrong ${index}`, hash),
        ),
      )
      assert.deepEqual(
        results,
        results.map((_, index) => index % 2 === 0),
      )
    })

    it('a new hash is not dated', async () => {
      assert.equal(hasher.isDated(await hasher.hash('password')), false)
    })

    itOfBcrypt('a hash is dated when its cost or its prefix is not that of a new one', async () => {
      const sameForm = VECTORS[1][1]
      assert.equal(hasher.isDated(sameForm), false)
      for (const dated of [
        sameForm.replace('$2b$', '$2y$'),
        sameForm.replace('$2b$', '$2a$'),
        sameForm.replace('$04$', '$05$'),
        sameForm.replace('$04$', '$14$'),
      ]) {
        assert.equal(hasher.isDated(dated), true, dated)
      }
      assert.equal(create(5).isDated(sameForm), true)
      assert.equal(hasher.isDated(SHA256_VECTORS[0][1]), false)
      assert.equal(hasher.isDated(SHA256_VECTORS[3][1]), true)
    })

    it('a slot allows any number of calls and can be released more than once', async () => {
      const slot = hasher.queue(aRequest())
      const hash = await slot.hash('password')
      assert.equal(await slot.verify('password', hash), true)
      slot.leave()
      slot.leave()
    })

    it('a released slot is free again, and a second release has no effect', async () => {
      const passwords = create(12)
      const maxSlots = countSlots(passwords)
      assert.ok(maxSlots > 0, 'the queue has no slot')
      for (let round = 0; round < 3; round++) assert.equal(countSlots(passwords), maxSlots, `round ${round}`)
    })

    it('a full queue throws at once, and work that has a slot is still done', async () => {
      const passwords = create(8)
      const first = passwords.queue(aRequest())
      assert.throws(
        () => {
          for (let calls = 0; calls < 1_000_000; calls++) passwords.queue(aRequest())
        },
        Unavailable,
        'a million requests got a slot',
      )
      assert.equal(await first.verify('correct horse 9', VECTORS[0][1]), true)
      assert.ok(isWhole(await passwords.hash('password')), 'a command needs no slot')
    })

    it('a full queue rejects the newest slot of the source that holds the most', async () => {
      const passwords = create(8)
      const slots = takeAll(passwords, { source: 'a' })
      for (const source of ['b', 'c']) assert.equal(passwords.hasRoom(aRequest({ source })), true, source)
      assert.equal(passwords.hasRoom(aRequest({ source: 'a' })), false)
      const another = passwords.queue(aRequest({ source: 'b' }))
      await assert.rejects(
        slots.at(-1)?.verify('x', null) ?? assert.fail(),
        Unavailable,
        'the newest slot was not rejected',
      )
      assert.equal(await slots[0]?.verify('x', null), false)
      assert.equal(await another.verify('correct horse 9', VECTORS[0][1]), true)
    })

    it('three accounts of one address get slots while another address fills the queue', async () => {
      const passwords = create(8)
      takeAll(passwords, { source: 'a' })
      const colleagues = ['ana', 'bea', 'cem'].map((account) =>
        passwords.queue(aRequest({ source: 'b', account })),
      )
      const verified = await Promise.all(
        colleagues.map((slot) => slot.verify('correct horse 9', VECTORS[0][1])),
      )
      assert.deepEqual(verified, [true, true, true])
    })

    it('threads serve the sources in turn, then the accounts of a source', async () => {
      const many = (source: string, account: string) =>
        Array.from({ length: 30 }, (_, i) => [`${account} ${i}`, { source, account }] as const)
      const requests = [
        ...many('a', 'attacker'),
        ['colleague', { source: 'a', account: 'colleague' }] as const,
        ['elsewhere', { source: 'b', account: 'elsewhere' }] as const,
      ]
      const ended = await endedFirst(create(6), requests, ['colleague', 'elsewhere'])
      assert.ok(ended.length < 20, ended.join(', '))
    })

    it('at an equal turn, threads serve known accounts first', async () => {
      const requests = Array.from({ length: 30 }, (_, i) => [`${i}`, { source: `a${i}` }] as const)
      const known = ['known', { source: 'b', isKnown: true }] as const
      const ended = await endedFirst(create(6), [...requests, known], ['known'])
      assert.ok(ended.length < 20, ended.join(', '))
    })

    it('work that has not begun when the signal aborts rejects with its reason', async () => {
      const passwords = create(10)
      const busy = Array.from({ length: 8 }, () => passwords.queue(aRequest()).verify('x', null))
      const gone = new AbortController()
      const slot = passwords.queue(aRequest({ signal: gone.signal }))
      const pending = [slot.verify('correct horse 9', VECTORS[0][1]), slot.hash('password')]
      const reason = new Error('gone')
      gone.abort(reason)
      pending.push(slot.verify('correct horse 9', VECTORS[0][1]))
      for (const [index, work] of pending.entries())
        await assert.rejects(work, (error) => error === reason, `the call ${index}`)
      slot.leave()
      assert.deepEqual(
        await Promise.all(busy),
        busy.map(() => false),
      )
      await assert.rejects(
        passwords.queue(aRequest({ signal: gone.signal })).verify('x', null),
        (error) => error === reason,
        'a slot of an aborted request verified',
      )
      assert.equal(await passwords.queue(aRequest()).verify('correct horse 9', VECTORS[0][1]), true)
    })
  })
}

/** Returns a request for a slot, from an unknown account. */
function aRequest(different: Partial<HashingRequest> = {}): HashingRequest {
  return {
    source: '192.0.2.1',
    account: 'ana@example.com',
    isKnown: false,
    signal: new AbortController().signal,
    ...different,
  }
}

/** Acquires all slots of the queue, for one source. */
function takeAll(passwords: PasswordHasher, different: Partial<HashingRequest> = {}): HashingSlot[] {
  const slots: HashingSlot[] = []
  assert.throws(
    () => {
      while (slots.length < 1_000_000) slots.push(passwords.queue(aRequest(different)))
    },
    Unavailable,
    'a million requests got a slot',
  )
  return slots
}

/** Returns the names of the verifications that end first, until those of `awaited` have ended. */
async function endedFirst(
  passwords: PasswordHasher,
  requests: readonly (readonly [name: string, Partial<HashingRequest>])[],
  awaited: readonly string[],
): Promise<readonly string[]> {
  const ended: string[] = []
  const slots = requests.map(([name, request]) => [name, passwords.queue(aRequest(request))] as const)
  await Promise.all(
    slots.map(async ([name, slot]) => {
      await slot.verify('x', null)
      if (!awaited.every((one) => ended.includes(one))) ended.push(name)
    }),
  )
  return ended
}

/** Returns the shortest of several durations: other work of the machine only makes one longer. */
async function shortestMs(work: () => Promise<unknown>): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5; round++) {
    const beganMs = performance.now()
    await work()
    shortest = Math.min(shortest, performance.now() - beganMs)
  }
  return shortest
}

/** Counts the slots of the queue. Releases each of them, twice. */
function countSlots(passwords: PasswordHasher): number {
  const slots = takeAll(passwords)
  for (const slot of slots) {
    slot.leave()
    slot.leave()
  }
  return slots.length
}
