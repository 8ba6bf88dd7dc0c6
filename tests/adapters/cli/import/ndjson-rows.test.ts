import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ndjsonRows } from '../../../../src/adapters/cli/import/ndjson-rows.ts'
import { inPieces, type Short, shortOf } from './rows.ts'

async function read(file: Uint8Array | string): Promise<readonly Short[]> {
  const whole = await shortOf(ndjsonRows(inPieces(file)))
  for (let size = 1; size < Math.min(8, file.length); size++)
    assert.deepEqual(await shortOf(ndjsonRows(inPieces(file, size))), whole, `in pieces of ${size}`)
  return whole
}

describe('An NDJSON file', () => {
  const a = '{"email":"a@x","password_hash":"h1","name":"Ana"}'
  const b = '{ "name": null, "id": 7, "password_hash": "h2", "email": "b@x" }'
  const rows: readonly Short[] = [
    [1, 'a@x', 'h1', 'Ana'],
    [2, 'b@x', 'h2', null],
  ]
  for (const [title, file] of [
    ['with lines that end in LF', `${a}\n${b}\n`],
    ['with CR LF', `${a}\r\n${b}\r\n`],
    ['without an end of its last line', `${a}\n${b}`],
    ['with blank lines at its end', `${a}\n${b}\n\n \t\r\n`],
    ['with a byte-order mark', `\ufeff${a}\n${b}\n`],
  ] as const) {
    it(title, async () => assert.deepEqual(await read(file), rows))
  }

  it('may have no names, and escape sequences in its texts', async () => {
    assert.deepEqual(await read('\n{"email":"\\u00f1@x","password_hash":"h\\u0000"}'), [
      [2, 'ñ@x', 'h\0', null],
    ])
    assert.deepEqual(await read(''), [])
    assert.deepEqual(await read('7'), [[1, 'Is not a JSON object.']])
  })

  it('has each invalid row refused, without quoting it', async () => {
    const bad: readonly (readonly [text: string, problem: string])[] = [
      ['{"email":"a@x","password_hash":"secret"', 'Is not JSON.'],
      ['secret', 'Is not JSON.'],
      ['{"email":"a@x"}{"email":"b@x"}', 'Is not JSON.'],
      ['null', 'Is not a JSON object.'],
      ['["a@x","h"]', 'Is not a JSON object.'],
      ['"secret"', 'Is not a JSON object.'],
      ['{"password_hash":"h"}', 'email: Must be text.'],
      ['{"email":["a@x"],"password_hash":"h"}', 'email: Must be text.'],
      ['{"email":"a@x"}', 'password_hash: Must be text.'],
      ['{"email":"a@x","password_hash":null}', 'password_hash: Must be text.'],
      ['{"email":"a@x","password_hash":"h","name":7}', 'name: Must be text or null.'],
      ['{"__proto__":{"email":"a@x","password_hash":"h"}}', 'email: Must be text.'],
    ]
    assert.deepEqual(await read(bad.map(([text]) => text).join('\n')), [
      ...bad.map(([, problem], at) => [at + 1, problem]),
    ])
  })

  it('has each row that is not UTF-8 refused', async () => {
    const file = Buffer.concat([Buffer.from(`${a}\n`), Buffer.from(a.replace('Ana', 'N\xfa'), 'latin1')])
    assert.deepEqual(await read(file), [rows[0], [2, 'Is not UTF-8 text.']])
  })

  it('loses only the line that is too long', async () => {
    const long = `{"email":"${'a'.repeat(300_000)}","password_hash":"h"}`
    for (const size of [1000, 65_536, 1_000_000]) {
      const problem = 'Is longer than 65536 bytes.'
      assert.deepEqual(await shortOf(ndjsonRows(inPieces(`${long}\n${b}\n${long}`, size))), [
        [1, problem],
        [2, 'b@x', 'h2', null],
        [3, problem],
      ])
    }
  })
})
