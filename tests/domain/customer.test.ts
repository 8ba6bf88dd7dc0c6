import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { emailProblem, foldedEmail, newEmailProblem, trimmedEmail } from '../../src/domain/customer.ts'

const LENGTH = 'Must have 1 to 254 characters.'
const CONTROL = 'Must not contain control characters.'
const ILL_FORMED = 'Must be well-formed text.'

describe('An e-mail', () => {
  for (const email of [
    'ana@example.com',
    "o'hara+tag@example.com",
    'jean@xn--mnchen-3ya.example',
    'ana@localhost',
    'ñandu@example.com',
    'a',
    'no at sign',
    '\u00a0@example.com',
    '🦊@example.com',
  ]) {
    it(`may be ${JSON.stringify(email)}`, () => assert.equal(emailProblem(email), null))
  }

  it('has 1 to 254 code points, whatever its length in UTF-16 or bytes', () => {
    assert.equal(emailProblem(''), LENGTH)
    for (const character of ['a', 'é', '€', '🦊']) {
      assert.equal(emailProblem(character), null)
      assert.equal(emailProblem(character.repeat(254)), null)
      assert.equal(emailProblem(character.repeat(255)), LENGTH)
    }
  })

  it('has no control characters', () => {
    for (let code = 0; code <= 0xff; code++) {
      const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f)
      const character = String.fromCharCode(code)
      for (const email of [`${character}a`, `a${character}a`, `a${character}`]) {
        assert.equal(emailProblem(email), isControl ? CONTROL : null, `U+${code.toString(16)}`)
      }
    }
  })

  it('is well-formed UTF-16', () => {
    for (const email of ['\ud83e', '\udd8a', 'a\ud83e@b', '\udd8a\ud83e', 'a\ud83e\ud83e\udd8a']) {
      assert.equal(emailProblem(email), ILL_FORMED)
    }
  })
})

describe('An e-mail that is stored', () => {
  for (const email of [
    'ana@example.com',
    'a@b',
    '"a b"@example.com',
    'a@b@c',
    'ñandu@münchen.example',
    '🦊@例え.jp',
  ])
    it(`may be ${JSON.stringify(email)}`, () => assert.equal(newEmailProblem(email), null))

  for (const email of ['a', 'notanemail', '@', '@b', 'a@', 'NULL', '\\N', 'n/a', '-', 'no at sign'])
    it(`has an @ with text on both sides, which ${JSON.stringify(email)} has not`, () =>
      assert.equal(newEmailProblem(email), 'Must contain an @ with text before and after it.'))

  it('has no character that cannot be seen, anywhere', () => {
    const unseen =
      '\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u180e\u2000\u2007\u200a\u200b\u200c\u200d\u200e\u200f'
    const more =
      '\u2028\u2029\u202a\u202e\u202f\u205f\u2060\u2064\u2066\u2069\u2800\u3000\u3164\ufe0f\ufeff\uffa0\ufff9\ufffc\ufffd\u{e0001}\u{e0041}'
    for (const character of unseen + more)
      for (const email of [`${character}a@b`, `a${character}b@c`, `a@b${character}`])
        assert.equal(
          newEmailProblem(email),
          'Must not contain invisible characters or special spaces.',
          `U+${character.codePointAt(0)?.toString(16)}`,
        )
  })
})

describe('Trimming an e-mail', () => {
  it('removes ASCII whitespace from both ends and not from the middle', () => {
    for (const blank of ['\t', '\n', '\f', '\r', ' ', '\r\n', ' \t \n']) {
      assert.equal(trimmedEmail(`${blank}a${blank}b${blank}`), `a${blank}b`)
      assert.equal(trimmedEmail(`${blank}a`), 'a')
      assert.equal(trimmedEmail(`a${blank}`), 'a')
      assert.equal(trimmedEmail(blank), '')
    }
    assert.equal(trimmedEmail(''), '')
    assert.equal(trimmedEmail('a'), 'a')
  })

  it('does not remove any other blank', () => {
    for (const blank of ['\v', '\u0000', '\u0085', '\u00a0', '\u2003', '\u2028', '\u3000', '\ufeff']) {
      assert.equal(trimmedEmail(`${blank}a${blank}`), `${blank}a${blank}`)
    }
  })

  it('takes linear time for a run of blanks in the middle', () => {
    const email = `a${' '.repeat(1_000_000)}b`
    const beganMs = performance.now()
    assert.equal(trimmedEmail(email), email)
    // A regular expression that takes quadratic time would take an hour.
    assert.ok(performance.now() - beganMs < 5000)
  })
})

describe('Folding an e-mail', () => {
  it('trims it and lowercases ASCII letters', () => {
    assert.equal(foldedEmail(' ABCXYZ.ana+Tag@EXAMPLE.com\r\n'), 'abcxyz.ana+tag@example.com')
  })

  it('changes no other UTF-16 code unit', () => {
    for (let code = 0; code <= 0xffff; code++) {
      if (code >= 0x41 && code <= 0x5a) continue
      const email = `x${String.fromCharCode(code)}x`
      assert.equal(foldedEmail(email), email)
    }
  })

  for (const [name, lookAlike, ascii] of [
    ['the Kelvin sign', '\u212aate', 'kate'],
    ['the long s', '\u017fam', 'sam'],
    ['the dotless i', 'al\u0131', 'ali'],
    ['the dotted capital I', 'AL\u0130', 'ali'],
    ['full-width letters', '\uff21na', 'ana'],
    ['a decomposed letter', 'jose\u0301', 'josé'],
    ['a sharp s', 'stra\u00dfe', 'strasse'],
    ['a capital with an accent', 'JOS\u00c9', 'josé'],
  ] as const) {
    it(`does not equate ${name} with ASCII letters`, () => {
      assert.notEqual(foldedEmail(`${lookAlike}@example.com`), foldedEmail(`${ascii}@example.com`))
    })
  }
})
