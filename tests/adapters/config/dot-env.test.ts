import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import { toRefusal } from './reading.ts'

const URL_OF_DATABASE = 'postgres://app:hunter2@db.example/app'

const REJECTED: readonly (readonly [title: string, line: string])[] = [
  ['a heading', 'Latchkey settings'],
  ['a comment of C', '// the port'],
  ['a commented setting of C', '//PORT=1'],
  ['a comment of INI files', ';PORT=1'],
  ['a section', '[latchkey]'],
  ['export without a value', 'export DEBUG'],
  ['a colon', 'PORT: 3001'],
  ['a colon before =', 'PORT:=3001'],
  ['set', 'set PORT=3001'],
  ['a list', '- PORT=3001'],
  ['JSON', '{ "PORT": "3001" }'],
  ['the beginning of a conflict', '<<<<<<< HEAD'],
  ['the middle of a conflict', '======='],
  ['the end of a conflict', '>>>>>>> feature=1'],
  ['no name', '=hunter2'],
  ['a quoted name', '"PORT"=3001'],
  ['a space that is not ASCII', '\u00a0PORT=3001'],
  ['a byte-order mark in the middle', '\ufeffPORT=3001'],
  ['a quote that is not closed', 'A="hunter2'],
  ['a quote that another closes', 'A=\'hunter2"'],
  ['text after the quote', 'A="hun"ter2'],
  ['a quote inside of the quotes', "A='x'hunter'2'"],
  ['a backslash in double quotes', 'A="hunter2\\n"'],
  ['a # that may or may not begin a comment', 'A=hunter2#2'],
  ['a value that begins with #', 'A=#hunter2'],
  ['a secret alone', 'hunter2hunter2'],
]

describe('A .env file', () => {
  for (const [title, line] of REJECTED)
    test(`is rejected with the line number, and without its text, for ${title}`, () => {
      const refusal = toRefusal({}, { dotEnv: `HOST=::1\r\n${line}\nDATABASE_URL=${URL_OF_DATABASE}\n` })
      assert.equal(refusal.message.split('\n').length, 1)
      assert.match(refusal.message, /^\.env: Line 2 /)
      assert.doesNotMatch(inspect(refusal, { depth: null }), /hun/)
    })

  test('is rejected with every wrong line and every wrong setting', () => {
    const dotEnv = 'a\nPORT=many\nb\n# c\nTOKEN_TTL=1h\nA="b\nc"\n'
    assert.deepEqual(
      toRefusal({}, { dotEnv }).problems.map(({ name, problem }) => `${name} ${/\d+/.exec(problem)?.[0]}`),
      ['.env 1', '.env 3', '.env 6', '.env 7', 'PORT 0'],
    )
  })
})
