import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { TokenSecrets } from '../../application/ports/secrets.ts'
import { type TestRunner, withTimeout } from '../runner.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const VECTOR = 'lk_0123456789ABCDEFGHIJabcdefghijKLMNOPQRST2m5ATr'
const VECTOR_DIGEST = 'd9c73349611964df0f866878883716ed54adfd765e9bac1d509ef00a89150160'

/**
 * The contract of `TokenSecrets`: secrets have the form that secret scanners find, are uniformly random, match the digest
 * they were issued with, and are refused after any change of one character. `create` returns one whose secrets begin with
 * the prefix. There are no concurrent tests, because the port is synchronous. Takes 0.1 s.
 */
export function tokenSecretsContract(
  name: string,
  create: (prefix: string) => TokenSecrets,
  runner?: TestRunner,
): void {
  const { describe, it } = withTimeout(runner)
  describe(`${name} keeps the contract of TokenSecrets:`, () => {
    const secrets = create('lk')
    const body = VECTOR.slice(3)

    it('the token of the contract has the digest of the contract, under any configured prefix', () => {
      for (const prefix of ['lk', 'acme', 'a', 'z234567890123456']) {
        assert.equal(create(prefix).digestOf(VECTOR), VECTOR_DIGEST, prefix)
      }
    })

    it('2,000 issued secrets are distinct and well-formed, and match the digests they were issued with', () => {
      const issued = Array.from({ length: 2000 }, () => secrets.issue())
      assert.equal(new Set(issued.map(({ secret }) => secret)).size, 2000)
      assert.equal(new Set(issued.map(({ digest }) => digest)).size, 2000)
      for (const { secret, digest } of issued) {
        assert.match(secret, /^lk_[0-9A-Za-z]{46}$/)
        assert.match(`Authorization: Bearer ${secret}, x`, /\b[a-z][a-z0-9]{0,15}_[0-9A-Za-z]{46}\b/)
        assert.equal(digest, createHash('sha256').update(secret).digest('hex'), secret)
        assert.equal(secrets.digestOf(secret), digest, secret)
      }
    })

    it('a secret begins with the configured prefix, and stays valid when the prefix changes', () => {
      for (const prefix of ['a', 'acme', 'z234567890123456']) {
        const { secret, digest } = create(prefix).issue()
        assert.ok(secret.startsWith(`${prefix}_`), secret)
        assert.equal(secrets.digestOf(secret), digest, secret)
      }
    })

    it('a change of any one character is refused, including the prefix', () => {
      for (const secret of [VECTOR, secrets.issue().secret, create('acme2').issue().secret]) {
        let changes = 0
        for (let at = 0; at < secret.length; at++) {
          for (const character of `${ALPHABET}_-"é `) {
            if (character === secret[at]) continue
            const changed = secret.slice(0, at) + character + secret.slice(at + 1)
            assert.equal(secrets.digestOf(changed), null, changed)
            changes += 1
          }
        }
        assert.equal(changes, secret.length * 66)
      }
    })

    it('two swapped neighbours are refused', () => {
      for (let at = 0; at + 1 < VECTOR.length; at++) {
        const swapped = VECTOR.slice(0, at) + VECTOR[at + 1] + VECTOR[at] + VECTOR.slice(at + 2)
        assert.equal(secrets.digestOf(swapped), null, swapped)
      }
    })

    it('one more or one less character anywhere is refused', () => {
      for (let at = 0; at <= VECTOR.length; at++) {
        assert.equal(
          secrets.digestOf(`${VECTOR.slice(0, at)}0${VECTOR.slice(at)}`),
          null,
          `one more at ${at}`,
        )
        if (at < VECTOR.length)
          assert.equal(
            secrets.digestOf(VECTOR.slice(0, at) + VECTOR.slice(at + 1)),
            null,
            `one less at ${at}`,
          )
      }
    })

    it('a text that cannot be a token is refused without an error', () => {
      for (const presented of [
        '',
        ' ',
        'lk',
        'lk_',
        '_',
        'lk__',
        'lkabc',
        '1|abc',
        'null',
        'undefined',
        body,
        `_${body}`,
        `other_${body}`,
        `lk-${body}`,
        `lk__${body}`,
        `${VECTOR}_extra`,
        `"${VECTOR}"`,
        `"${VECTOR}`,
        ` ${VECTOR}`,
        `${VECTOR} `,
        `${VECTOR}\n`,
        `\n${VECTOR}`,
        `${VECTOR}\r\n`,
        `${VECTOR}\u0000`,
        `${VECTOR},${VECTOR}`,
        VECTOR + VECTOR,
        VECTOR.toUpperCase(),
        VECTOR.toLowerCase(),
        `LK_${body}`,
        `1k_${body}`,
        `l.k_${body}`,
        `${'l'.repeat(17)}_${body}`,
        VECTOR.replace('0', '０'),
        VECTOR_DIGEST,
        'a'.repeat(100_000),
      ]) {
        assert.equal(secrets.digestOf(presented), null, JSON.stringify(presented.slice(0, 80)))
      }
      for (let length = 0; length <= 80; length++) {
        assert.equal(secrets.digestOf(`lk_${'a'.repeat(length)}`), null, `lk_ and ${length} characters`)
        assert.equal(secrets.digestOf('a'.repeat(length)), null, `${length} characters`)
      }
    })

    it('a correct checksum alone is not enough', () => {
      const random = body.slice(0, 40)
      assert.equal(withChecksum(`lk_${random}`), VECTOR)
      for (const text of [
        random,
        `_${random}`,
        `${'l'.repeat(17)}_${random}`,
        `Lk_${random}`,
        `lK_${random}`,
        `1k_${random}`,
        `l-k_${random}`,
        `ñ_${random}`,
        `lk-${random}`,
        `lk__${random.slice(1)}`,
        `lk_${random.slice(1)}`,
        `lk_${random}0`,
        `lk_${random}000000`,
        `lk_${random.slice(1)}-`,
        ` lk_${random}`,
        `x\nlk_${random}`,
        `lk_${random.slice(1)}\n`,
      ]) {
        assert.equal(secrets.digestOf(withChecksum(text)), null, JSON.stringify(text))
      }
      for (const text of [`l_${random}`, `${'l'.repeat(16)}_${random}`, `l9_${random}`]) {
        assert.notEqual(secrets.digestOf(withChecksum(text)), null, text)
      }
    })

    it('a text under another prefix is another token, with another checksum', () => {
      for (const prefix of ['l', 'lkk', 'kl', 'acme']) {
        assert.equal(secrets.digestOf(`${prefix}_${body}`), null, prefix)
      }
    })

    it('every character is equally likely at every position', () => {
      const bodies = Array.from({ length: 2500 }, () => secrets.issue().secret.slice(3, 43))
      // 61 degrees of freedom: above 160 by chance less than once in ten thousand million runs.
      // Bytes modulo 62, without rejection of the remainder, give more than 800.
      assert.ok(chiSquare(bodies.join('')) < 160, 'at all positions together')
      for (const at of [0, 1, 20, 38, 39]) {
        assert.ok(chiSquare(bodies.map((text) => text[at]).join('')) < 160, `at ${at}`)
      }
    })
  })
}

function withChecksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let digit = 0; digit < 6; digit++) {
    digits = ALPHABET[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return text + digits
}

function chiSquare(text: string): number {
  const expected = text.length / ALPHABET.length
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  return [...ALPHABET].reduce((sum, character) => {
    return sum + ((counts.get(character) ?? 0) - expected) ** 2 / expected
  }, 0)
}
