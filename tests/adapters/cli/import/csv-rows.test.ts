import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { csvRows } from '../../../../src/adapters/cli/import/csv-rows.ts'
import { inPieces, type Short, shortOf } from './rows.ts'

const MISPLACED = 'Has a quotation mark that neither opens nor closes a field.'
const UNCLOSED = 'Has a quotation mark that is not closed.'
const TOO_LONG = 'Is longer than 65536 bytes, as when a quotation mark is not closed.'

/** Reads the rows in chunks of every small size and as a whole; the results must be equal. */
async function read(file: Uint8Array | string): Promise<readonly Short[]> {
  const whole = await shortOf(csvRows(inPieces(file), () => {}))
  for (let size = 1; size < Math.min(8, file.length); size++)
    assert.deepEqual(await shortOf(csvRows(inPieces(file, size), () => {})), whole, `in pieces of ${size}`)
  return whole
}

describe('A CSV file', () => {
  const rows: readonly Short[] = [
    [2, 'a@x', 'h1', 'Ana'],
    [3, 'b@x', 'h2', ''],
  ]
  for (const [title, file] of [
    ['with lines that end in LF', 'email,password_hash,name\na@x,h1,Ana\nb@x,h2,\n'],
    // Public case 082
    ['with CR LF throughout', 'email,password_hash,name\r\na@x,h1,Ana\r\nb@x,h2,\r\n'],
    ['with CR alone', 'email,password_hash,name\ra@x,h1,Ana\rb@x,h2,\r'],
    ['with LF in the header and CR LF behind it', 'email,password_hash,name\na@x,h1,Ana\r\nb@x,h2,\r\n'],
    // Public case 082
    ['without an end of its last line', 'email,password_hash,name\na@x,h1,Ana\nb@x,h2,'],
    // Public case 082
    ['with blank lines at its end', 'email,password_hash,name\na@x,h1,Ana\nb@x,h2,\n\n\n'],
    ['with blanks and tabs in a line at its end', 'email,password_hash,name\na@x,h1,Ana\nb@x,h2,\n \t \r\n'],
    ['with a byte-order mark', '\ufeffemail,password_hash,name\na@x,h1,Ana\nb@x,h2,\n'],
    ['with quoted fields', '"email","password_hash","name"\n"a@x","h1","Ana"\n"b@x","h2",""\n'],
    ['with its columns in another order', 'name,email,password_hash\nAna,a@x,h1\n,b@x,h2\n'],
    ['with columns in any case', ' Email ,PASSWORD_HASH,Name\na@x,h1,Ana\nb@x,h2,\n'],
    ['with columns of no meaning', 'id,email,,password_hash,name\n1,a@x,,h1,Ana\n2,b@x,,h2,\n'],
  ] as const) {
    it(title, async () => assert.deepEqual(await read(file), rows))
  }

  it('may have no names', async () => {
    assert.deepEqual(await read('email,password_hash\na@x,h\n'), [[2, 'a@x', 'h', '']])
  })

  it('may have null as the name, as databases write it', async () => {
    assert.deepEqual(await read('email,password_hash,name\na@x,h,NULL\nb@x,h,\\N\nc@x,h,Null\n'), [
      [2, 'a@x', 'h', null],
      [3, 'b@x', 'h', null],
      [4, 'c@x', 'h', 'Null'],
    ])
  })

  it('reports the columns that are not read by name, and none without a name', async () => {
    const ignored: string[] = []
    for (const header of ['email,password_hash,', ',email,,password_hash', 'id,email,,password_hash'])
      for await (const _ of csvRows(inPieces(`${header}\n`), (columns) => ignored.push(columns.join())))
        assert.fail()
    assert.deepEqual(ignored, ['id'])
  })

  it('may have no rows', async () => assert.deepEqual(await read('email,password_hash'), []))

  // Public case 082
  it('reports each row with the line where it begins, whatever its fields contain', async () => {
    for (const end of ['\n', '\r\n', '\r'])
      assert.deepEqual(
        await read(
          [
            'email,password_hash,name',
            '',
            'a@x,h1,"Ruiz, Ana"',
            'b@x,h2,"Bea',
            '',
            '""B""',
            '"',
            '',
            'c@x,h3,C',
            'one',
            'd@x,h4,D,more',
            'e@x,h5,E',
          ].join(end),
        ),
        [
          [3, 'a@x', 'h1', 'Ruiz, Ana'],
          [4, 'b@x', 'h2', `Bea${end}${end}"B"${end}`],
          [9, 'c@x', 'h3', 'C'],
          [10, 'Has 1 field, expected 3.'],
          [11, 'Has 4 fields, expected 3.'],
          [12, 'e@x', 'h5', 'E'],
        ],
      )
  })

  for (const [name, end] of [
    ['CR LF', '\r\n'],
    ['LF', '\n'],
    ['CR', '\r'],
  ] as const)
    it(`loses only one line by a misplaced quotation mark, whatever follows it: ${name}`, async () => {
      assert.deepEqual(
        await read(
          [
            'email,password_hash,name',
            'a@x,h1,O"Hara',
            'b@x,h2,"B" B',
            'c@x,h3,"C',
            'd@x,h4,D',
            'e@x,h5,"E"',
            'f@x,h6,"F',
            'g@x,h7,G',
            '',
          ].join(end),
        ),
        [
          [2, MISPLACED],
          [3, MISPLACED],
          [4, MISPLACED],
          [5, 'd@x', 'h4', 'D'],
          [6, 'e@x', 'h5', 'E'],
          [7, UNCLOSED],
          [8, 'g@x', 'h7', 'G'],
        ],
      )
    })

  it('loses only one line, in constant memory, by an unclosed quotation mark or an endless line', async () => {
    const many = Array.from({ length: 20_000 }, (_, at) => `c${at}@x,h,\n`).join('')
    for (const [spoilt, problem] of [
      ['a@x,h1,"Ana\n', TOO_LONG],
      [`a@x,h1,${'n'.repeat(300_000)}\n`, TOO_LONG],
      [`${','.repeat(300_000)}\n`, TOO_LONG],
    ]) {
      const found = await shortOf(
        csvRows(inPieces(`email,password_hash,name\n${spoilt}${many}`, 1000), () => {}),
      )
      assert.equal(found.length, 20_001)
      assert.deepEqual(found.slice(0, 2), [
        [2, problem],
        [3, 'c0@x', 'h', ''],
      ])
      assert.deepEqual(found.at(-1), [20_002, 'c19999@x', 'h', ''])
    }
  })

  it('accepts a row of 60,000 bytes', async () => {
    const found = await read(`email,password_hash,notes\na@x,h,"${'n\n'.repeat(30_000)}"\nb@x,h,\n`)
    assert.deepEqual(found, [
      [2, 'a@x', 'h', ''],
      [30_003, 'b@x', 'h', ''],
    ])
  })

  it('has each row that is not UTF-8 refused', async () => {
    const file = Buffer.concat([
      Buffer.from('email,password_hash,name,notes\nñ@x,h,Núñez 🦊,\n'),
      Buffer.from('b@x,h,N\xfa\xf1ez,\n', 'latin1'),
      Buffer.from('c@x,h,C,\xff\n', 'latin1'),
    ])
    assert.deepEqual(await read(file), [
      [2, 'ñ@x', 'h', 'Núñez 🦊'],
      [3, 'Is not UTF-8 text.'],
      [4, 'c@x', 'h', 'C'],
    ])
  })

  it('has its ignored columns reported once', async () => {
    const ignored: unknown[] = []
    await shortOf(
      csvRows(inPieces('id,email,password_hash,Phone\n1,a,b,2\n'), (names) => ignored.push(names)),
    )
    await shortOf(csvRows(inPieces('email,password_hash,name\n'), (names) => ignored.push(names)))
    assert.deepEqual(ignored, [['id', 'phone']])
  })

  for (const [title, file] of [
    ['is empty', ''],
    ['is blank', '\n \n'],
    ['begins with a row', 'ana@example.com,$2b$04$secret,Ana\n'],
    ['names no hash', 'email,name\na@x,Ana\n'],
    ['names no e-mail', 'mail,password_hash\na@x,h\n'],
    ['names a column twice', 'email,password_hash,Email\na@x,h,b@x\n'],
    ['names the names twice', 'email,password_hash,name,name\na@x,h,A,B\n'],
    ['has semicolons', 'email;password_hash\na@x;h\n'],
    ['has a mark in its first line', 'email,pass"word_hash\na@x,h\n'],
    ['is UTF-16', Buffer.from('\ufeffemail,password_hash\n', 'utf16le')],
  ] as const)
    it(`is refused as a whole, without quoting it, when it ${title}`, async () => {
      await assert.rejects(shortOf(csvRows(inPieces(file), () => {})), {
        message:
          'The first line must name the columns, separated by commas: email, password_hash and, where there are names, name.',
        forOperators: true,
      })
    })
})
