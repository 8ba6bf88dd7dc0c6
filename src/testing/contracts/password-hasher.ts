import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { HashingSlot, PasswordHasher } from '../../application/ports/password-hasher.ts'
import { Unavailable } from '../../domain/errors.ts'
import { isWholePasswordHash } from '../../domain/password.ts'
import { SENTENCE } from '../stores.ts'

/** `correct horse 9`, `" hunter2 "` and 100 × `p` by crypt(3), at cost 4 and 10. */
const VECTORS = [
  ['correct horse 9', '$2y$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'],
  ['correct horse 9', '$2b$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'],
  ['correct horse 9', '$2a$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'],
  ['correct horse 9', '$2y$10$abcdefghijklmnopqrstuuG9vgRxibBkoVPvz73E3.IaYK../N/AO'],
  [' hunter2 ', '$2y$04$abcdefghijklmnopqrstuui.ptP7RN6GmuQ5A5kQERWyZLUDKJdcK'],
  ['p'.repeat(100), '$2y$04$abcdefghijklmnopqrstuuNt.0ah97gHY3F7JC1Z6EXmQc0bQBhIO'],
] as const

/**
 * What every adapter of `PasswordHasher` does: bcrypt hashes from elsewhere are verified, a password is taken exactly,
 * a damaged hash is nobody’s, and there is a place for only so many; 40 are verified at once. `create` gives a hasher
 * whose new hashes have this cost, from 4 to 12; it is called often, and what is queued in one is of no concern to
 * another. Takes two seconds on two threads.
 */
export function passwordHasherContract(name: string, create: (cost: number) => PasswordHasher): void {
  describe(`${name} keeps the contract of PasswordHasher:`, () => {
    const hasher = create(4)
    const passwords = hasher.queue(new AbortController().signal)

    for (const [password, hash] of VECTORS) {
      it(
        `the hash ${hash.slice(0, 7)}… of ${password.length} characters from elsewhere is verified`,
        SENTENCE,
        async () => {
          assert.equal(await passwords.verify(password, hash), true)
          for (const wrong of [password.slice(1, 60), password.toUpperCase(), `x${password}`, '']) {
            assert.equal(await passwords.verify(wrong, hash), false)
          }
        },
      )
    }

    it(
      'a password is taken exactly: no blank is trimmed, no letter folded or normalised',
      SENTENCE,
      async () => {
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
      },
    )

    it('a hash is whole, has the configured cost and a salt of its own', SENTENCE, async () => {
      for (const cost of [4, 5, 6]) {
        const hashes = await Promise.all([1, 2, 3].map(() => create(cost).hash('password')))
        assert.equal(new Set(hashes).size, 3)
        for (const hash of hashes) {
          assert.ok(isWholePasswordHash(hash), hash)
          assert.equal(hash.slice(3, 7), `$0${cost}$`)
          assert.equal(await passwords.verify('password', hash), true)
        }
      }
    })

    it('bits that neither salt nor digest has are nothing to a hash', SENTENCE, async () => {
      const [password, hash] = VECTORS[1]
      const spare = `${hash.slice(0, 28)}v${hash.slice(29, -1)}x`
      for (const same of [`${hash.slice(0, 28)}v${hash.slice(29)}`, spare]) {
        assert.ok(isWholePasswordHash(same))
        assert.equal(await passwords.verify(password, same), true, same)
        assert.equal(await passwords.verify(`x${password}`, same), false, same)
      }
      // Bits that the digest has.
      assert.equal(await passwords.verify(password, `${hash.slice(0, -1)}y`), false)
    })

    it('a hash of a cheaper, the same or a dearer cost is verified alike', SENTENCE, async () => {
      const hash = await create(5).hash('password')
      for (const cost of [4, 5, 6, 8]) {
        assert.equal(await create(cost).queue(new AbortController().signal).verify('password', hash), true)
        assert.equal(await create(cost).queue(new AbortController().signal).verify('Password', hash), false)
      }
    })

    it('of a password 72 bytes count, and all of them', SENTENCE, async () => {
      for (const full of ['p'.repeat(72), '€'.repeat(24), '🦊'.repeat(18)]) {
        const hash = await passwords.hash(full)
        assert.equal(await passwords.verify(full, hash), true)
        assert.equal(await passwords.verify(`${full}X`, hash), true)
      }
      const hash = await passwords.hash(`${'p'.repeat(71)}a`)
      assert.equal(await passwords.verify(`${'p'.repeat(71)}b`, hash), false)
      assert.equal(await passwords.verify('p'.repeat(71), hash), false)
    })

    it('no hash, or a damaged one, is of no password, and no error', SENTENCE, async () => {
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

    // By how long an answer takes nobody must learn who has a password here.
    it('no hash, a damaged and a cheaper one take as long as the configured cost', SENTENCE, async () => {
      const place = create(10).queue(new AbortController().signal)
      const same = VECTORS[3][1]
      const full = await shortestMs(() => place.verify('wrong', same))
      for (const other of [null, same.slice(0, -1), VECTORS[1][1]]) {
        const ms = await shortestMs(() => place.verify('wrong', other))
        assert.ok(ms > full / 2, `${JSON.stringify(other)}: ${ms} of ${full} ms`)
      }
    })

    it('many at once are each answered for themselves', SENTENCE, async () => {
      const hash = VECTORS[0][1]
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          passwords.verify(index % 2 === 0 ? 'correct horse 9' : `wrong ${index}`, hash),
        ),
      )
      assert.deepEqual(
        answers,
        answers.map((_, index) => index % 2 === 0),
      )
    })

    it('a hash is dated when its cost or its prefix is not that of a new one', SENTENCE, async () => {
      assert.equal(hasher.isDated(await hasher.hash('password')), false)
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
    })

    it('a place serves for as much work as follows, and may be left more than once', SENTENCE, async () => {
      const place = hasher.queue(new AbortController().signal)
      const hash = await place.hash('password')
      assert.equal(await place.verify('password', hash), true)
      place.leave()
      place.leave()
    })

    it('places that are left are free again, however often each is left', SENTENCE, async () => {
      const { signal } = new AbortController()
      const passwords = create(12)
      const most = placesOf(passwords, signal)
      assert.ok(most > 0)
      for (let round = 0; round < 3; round++) assert.equal(placesOf(passwords, signal), most)
    })

    it('whoever has no place is told at once; whoever has one is served all the same', SENTENCE, async () => {
      const { signal } = new AbortController()
      const passwords = create(8)
      const first = passwords.queue(signal)
      assert.throws(() => {
        for (let asked = 0; asked < 1_000_000; asked++) passwords.queue(signal)
      }, Unavailable)
      assert.equal(await first.verify('correct horse 9', VECTORS[0][1]), true)
      assert.ok(isWholePasswordHash(await passwords.hash('password')), 'an operator waits for no place')
    })

    it(
      'what has not begun when the signal aborts is not done, and rejects with its reason',
      SENTENCE,
      async () => {
        const passwords = create(10)
        const busy = Array.from({ length: 8 }, () =>
          passwords.queue(new AbortController().signal).verify('x', null),
        )
        const gone = new AbortController()
        const place = passwords.queue(gone.signal)
        const asked = [place.verify('correct horse 9', VECTORS[0][1]), place.hash('password')]
        const reason = new Error('gone')
        gone.abort(reason)
        asked.push(place.verify('correct horse 9', VECTORS[0][1]))
        for (const work of asked) await assert.rejects(work, (error) => error === reason)
        place.leave()
        assert.deepEqual(
          await Promise.all(busy),
          busy.map(() => false),
        )
        await assert.rejects(passwords.queue(gone.signal).verify('x', null), (error) => error === reason)
        assert.equal(
          await passwords.queue(new AbortController().signal).verify('correct horse 9', VECTORS[0][1]),
          true,
        )
      },
    )
  })
}

/** Of several times: what else the machine does only makes one longer. */
async function shortestMs(work: () => Promise<unknown>): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5; round++) {
    const beganMs = performance.now()
    await work()
    shortest = Math.min(shortest, performance.now() - beganMs)
  }
  return shortest
}

/** How many places there are at once; all of them are left again, each of them twice. */
function placesOf(passwords: PasswordHasher, signal: AbortSignal): number {
  const places: HashingSlot[] = []
  assert.throws(() => {
    while (places.length < 1_000_000) places.push(passwords.queue(signal))
  }, Unavailable)
  for (const place of places) {
    place.leave()
    place.leave()
  }
  return places.length
}
