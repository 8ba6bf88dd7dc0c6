import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PasswordHasher } from '../../src/application/ports.ts'
import { isWholePasswordHash } from '../../src/domain/password.ts'

/** `correct horse 9`, `" hunter2 "` and 100 × `p` by crypt(3), at cost 4 and 10. */
const VECTORS = [
  ['correct horse 9', '$2y$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'],
  ['correct horse 9', '$2b$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'],
  ['correct horse 9', '$2a$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'],
  ['correct horse 9', '$2y$10$abcdefghijklmnopqrstuuG9vgRxibBkoVPvz73E3.IaYK../N/AO'],
  [' hunter2 ', '$2y$04$abcdefghijklmnopqrstuui.ptP7RN6GmuQ5A5kQERWyZLUDKJdcK'],
  ['p'.repeat(100), '$2y$04$abcdefghijklmnopqrstuuNt.0ah97gHY3F7JC1Z6EXmQc0bQBhIO'],
] as const

/** What every adapter of `PasswordHasher` does; `cost` is what a hash of it takes. */
export function passwordHasherContract(name: string, create: (cost: number) => PasswordHasher): void {
  describe(`${name} keeps the contract of PasswordHasher:`, () => {
    const passwords = create(4)

    for (const [password, hash] of VECTORS) {
      it(`the hash ${hash.slice(0, 7)}… of ${password.length} characters from elsewhere is verified`, async () => {
        assert.equal(await passwords.verify(password, hash), true)
        for (const wrong of [password.slice(1, 60), password.toUpperCase(), `x${password}`, '']) {
          assert.equal(await passwords.verify(wrong, hash), false)
        }
      })
    }

    it('a password is taken exactly: no blank is trimmed, no letter folded or normalised', async () => {
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

    it('a hash is whole, has the configured cost and a salt of its own', async () => {
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

    it('a hash of a cheaper, the same or a dearer cost is verified alike', async () => {
      const hash = await create(5).hash('password')
      for (const cost of [4, 5, 6, 8]) {
        assert.equal(await create(cost).verify('password', hash), true)
        assert.equal(await create(cost).verify('Password', hash), false)
      }
    })

    it('of a password 72 bytes count, and all of them', async () => {
      for (const full of ['p'.repeat(72), '€'.repeat(24), '🦊'.repeat(18)]) {
        const hash = await passwords.hash(full)
        assert.equal(await passwords.verify(full, hash), true)
        assert.equal(await passwords.verify(`${full}X`, hash), true)
      }
      const hash = await passwords.hash(`${'p'.repeat(71)}a`)
      assert.equal(await passwords.verify(`${'p'.repeat(71)}b`, hash), false)
      assert.equal(await passwords.verify('p'.repeat(71), hash), false)
    })

    it('cases 058, 060 and 061: no hash, or a damaged one, is of no password, and no error', async () => {
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

    it('many at once are each answered for themselves', async () => {
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
  })
}
