import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { emailProblem, foldedEmail, trimmedEmail } from '../../src/domain/customer.ts'

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
