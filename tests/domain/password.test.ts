import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  consistsOfWords,
  exceedsBcrypt,
  importedPasswordHash,
  isWholePasswordHash,
  newPasswordProblem,
  passwordHashProblem,
  presentedPasswordProblem,
} from '../../src/domain/password.ts'

const ILL_FORMED = 'Must be well-formed text.'
const NUL = 'Must not contain NUL.'
const SHORT = 'Must have at least 8 characters.'
const LONG = 'Must have at most 1024 bytes.'
const HASH = '$2b$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'
const TAIL = HASH.slice(7)

describe('A new password', () => {
  // Public case 062
  it('has at most 1,024 bytes, whatever its number of characters', () => {
    for (const [character, bytes] of [
      ['p', 1],
      ['\u007f', 1],
      ['\u0080', 2],
      ['é', 2],
      ['\u07ff', 2],
      ['\u0800', 3],
      ['€', 3],
      ['\uffff', 3],
      ['🦊', 4],
      ['\u{10ffff}', 4],
    ] as const) {
      const full = character.repeat(Math.floor(1024 / bytes)) + 'x'.repeat(1024 % bytes)
      assert.equal(newPasswordProblem(full), null, character)
      assert.equal(newPasswordProblem(`${full}x`), LONG, character)
      const block = character.repeat(72 / bytes)
      assert.equal(exceedsBcrypt(block), false, character)
      assert.equal(exceedsBcrypt(`${block}x`), true, character)
    }
    assert.equal(newPasswordProblem('€'.repeat(342)), LONG)
    assert.equal(newPasswordProblem(`${'p'.repeat(1023)}é`), LONG)
    assert.equal(newPasswordProblem(`${'p'.repeat(1021)}🦊`), LONG)
  })

  it('has at least the configured number of characters', () => {
    assert.equal(newPasswordProblem('🦊'.repeat(15), 15), null)
    assert.equal(newPasswordProblem('p'.repeat(14), 15), 'Must have at least 15 characters.')
  })

  it('has at least 8 characters, whatever their number of UTF-16 units', () => {
    for (const character of ['p', ' ', 'é', '🦊']) {
      assert.equal(newPasswordProblem(character.repeat(8)), null)
      assert.equal(newPasswordProblem(character.repeat(7)), SHORT)
    }
    assert.equal(newPasswordProblem(''), SHORT)
  })

  it('may have any character except NUL', () => {
    for (const password of ['\u0000password', 'pass\u0000word', 'password\u0000']) {
      assert.equal(newPasswordProblem(password), NUL)
    }
    assert.equal(newPasswordProblem(' pass\r\n\u0001\u200bword '), null)
  })

  it('is well-formed UTF-16', () => {
    for (const password of ['\ud83epassword', 'password\udd8a', 'pass\udd8a\ud83eword']) {
      assert.equal(newPasswordProblem(password), ILL_FORMED)
    }
  })

  // Public case 068
  it('is not a hash', () => {
    assert.equal(newPasswordProblem(HASH), 'Must be a password, not the hash of one.')
    for (const prefix of ['bcrypt$', 'bcrypt_sha256$'])
      assert.equal(newPasswordProblem(prefix + HASH), 'Must be a password, not the hash of one.')
    assert.equal(newPasswordProblem(HASH.slice(1)), null)
  })
})

describe('A presented password', () => {
  it('has 0 to 1,024 bytes', () => {
    for (const password of ['', 'x', ' ', 'p'.repeat(73), 'p'.repeat(1024), '🦊'.repeat(256), HASH]) {
      assert.equal(presentedPasswordProblem(password), null)
    }
    const problem = 'Must have at most 1024 bytes.'
    for (const password of ['p'.repeat(1025), `${'🦊'.repeat(256)}x`, '€'.repeat(342)]) {
      assert.equal(presentedPasswordProblem(password), problem)
    }
  })

  it('is well-formed and has no NUL', () => {
    assert.equal(presentedPasswordProblem('ab\u0000ab'), NUL)
    assert.equal(presentedPasswordProblem('ab\ud83e'), ILL_FORMED)
  })
})

describe('A complete hash', () => {
  it('has one of three version letters and a cost from 4 to 15', () => {
    for (const letter of ['a', 'b', 'y']) {
      for (let cost = 0; cost <= 99; cost++) {
        const hash = `$2${letter}$${String(cost).padStart(2, '0')}$${TAIL}`
        assert.equal(isWholePasswordHash(hash), cost >= 4 && cost <= 15, hash.slice(0, 7))
      }
    }
  })

  it('may be of the SHA-256 of the password, in Django’s form', () => {
    assert.equal(isWholePasswordHash(`bcrypt_sha256$${HASH}`), true)
    for (const other of ['bcrypt_sha256', 'bcrypt_sha256$$', 'bcrypt$', 'BCRYPT_SHA256$', ' bcrypt_sha256$'])
      assert.equal(isWholePasswordHash(other + HASH), false, other)
  })

  it('has only the 64 characters of its alphabet', () => {
    for (let code = 0; code <= 0xff; code++) {
      const character = String.fromCharCode(code)
      for (const hash of [HASH.slice(0, -1) + character, HASH.slice(0, 7) + character + HASH.slice(8)]) {
        assert.equal(isWholePasswordHash(hash), /[./A-Za-z0-9]/.test(character), `U+${code.toString(16)}`)
      }
    }
  })

  for (const [what, hash] of [
    ['nothing', ''],
    ['a blank', ' '],
    ['59 characters', HASH.slice(0, -1)],
    ['61 characters', `${HASH}u`],
    ['padding', `${HASH} `],
    ['padding to 64', HASH.padEnd(64)],
    ['a leading blank', ` ${HASH}`],
    ['a carriage return', `${HASH}\r`],
    ['a line break', `${HASH}\n`],
    ['a line before it', `x\n${HASH}`],
    ['a line after it', `${HASH}\nx`],
    ['CR LF', `${HASH}\r\n`],
    ['quotes', `"${HASH}"`],
    ['NUL and more', `${HASH}\u0000junk`],
    ['NUL', `${HASH}\u0000`],
    ['a byte-order mark', `\ufeff${HASH}`],
    ['a prefix of another scheme', `{CRYPT}${HASH}`],
    ['$2x$', HASH.replace('$2b$', '$2x$')],
    ['$2$', HASH.replace('$2b$', '$2$')],
    ['$2B$', HASH.replace('$2b$', '$2B$')],
    ['$1$', '$1$abcdefgh$Xk6GbLOSUhzAQ1ZkfVcP0.'],
    ['an md5', '5f4dcc3b5aa765d61d8327deb882cf99'],
    ['a SHA-256', 'a'.repeat(64)],
    ['argon2id', '$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b4dWRWJTmaaJObG'],
    ['a cost of one digit', HASH.replace('$04$', '$4$')],
    ['a cost of three digits', HASH.replace('$04$', '$004$')],
    ['no last separator', HASH.replace('$04$', '$04')],
    ['clear text', 'correct horse 9'],
    ['the prefix of Django’s form twice', `bcrypt_sha256$bcrypt_sha256$${HASH}`],
    ['the prefix of Django’s form before another one', `bcrypt_sha256$bcrypt$${HASH}`],
    ['the prefix of Django’s form alone', 'bcrypt_sha256$'],
  ] as const) {
    it(`does not have ${what}`, () => {
      assert.equal(isWholePasswordHash(hash), false)
      const problem = passwordHashProblem(hash)
      assert.ok(problem !== null)
      assert.ok(hash.trim().length < 20 || !problem.includes(hash.slice(7, 20)))
    })
  }
})

describe('A hash from another system is validated and reports', () => {
  const version = 'Must be bcrypt of the version $2a$, $2b$ or $2y$.'
  for (const [title, hash, problem] of [
    ['no problem if it is complete', HASH, null],
    ['no problem in Django’s form', `bcrypt_sha256$${HASH}`, null],
    [
      'the problem behind the prefix of Django’s form',
      `bcrypt_sha256$${HASH}x`,
      'Has 61 characters, expected 60.',
    ],
    ['its emptiness', '', 'Must not be empty.'],
    // Public case 060
    ['its length', HASH.slice(0, -1), 'Has 59 characters, expected 60.'],
    // Public case 061
    ['its length, counting characters after a NUL', `${HASH}\0junk`, 'Has 65 characters, expected 60.'],
    ['its version', HASH.replace('$2b$', '$2x$'), version],
    ['its version, for another scheme', '5f4dcc3b5aa765d61d8327deb882cf99', version],
    // Public case 068
    ['its version, for clear text', 'correct horse 9', version],
    ['its high cost', HASH.replace('$04$', '$16$'), 'Must have a cost from 04 to 15.'],
    ['its low cost', HASH.replace('$04$', '$03$'), 'Must have a cost from 04 to 15.'],
    ['its characters', `${HASH.slice(0, -1)}!`, 'Must be a whole bcrypt hash.'],
  ] as const) {
    it(title, () => assert.equal(passwordHashProblem(hash), problem))
  }
})

describe('An imported hash', () => {
  it('loses the prefix that Django adds to bcrypt', () => {
    assert.equal(importedPasswordHash(`bcrypt$${HASH}`), HASH)
    for (const hash of [HASH, `bcrypt_sha256$${HASH}`, 'bcrypt$', 'bcrypt$1$', `bcrypt$bcrypt$${HASH}`])
      assert.equal(importedPasswordHash(hash), hash)
  })
})

describe('A password consists of words', () => {
  const texts = ['latchkey', 'https://api.acme.example', 'Ana.Lopez@example.com', 'Ana Łopez-Núñez 🦊']

  for (const password of [
    'latchkey',
    'Latchkey2026!',
    'ACME-1234',
    '!!api..acme!!',
    'ana.lopez@example.com',
    'AnaLopez1985',
    'lopezana',
    'núñez-ŁOPEZ',
    'xyz ana 12',
  ])
    it(`when fewer than four letters are beside them: ${password}`, () =>
      assert.equal(consistsOfWords(password, texts), true))

  for (const password of [
    'anaconda on skis',
    'acme horse battery',
    '83164209751',
    'correct horse',
    '',
    'an-Al',
  ])
    it(`and otherwise not: ${JSON.stringify(password)}`, () =>
      assert.equal(consistsOfWords(password, texts), false))

  it('only of words of at least three characters', () => {
    assert.equal(consistsOfWords('jo 12345', ['jo@x', '']), false)
    assert.equal(consistsOfWords('joe 12345', ['joe@x']), true)
  })
})
