import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Unavailable } from '../../../../src/domain/errors.ts'
import { temporaryFolder } from '../../../support/running-process.ts'
import { makeCommandLine } from '../command-line.ts'

const HASH = '$2y$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'
const SECRET = '5f4dcc3b5aa765d61d8327deb882cf99'
const GOOD = `email,password_hash,name\nana@example.com,${HASH},Ana\nbea@example.com,${HASH},\n`

let folder: Awaited<ReturnType<typeof temporaryFolder>>
before(async () => {
  folder = await temporaryFolder()
})
after(() => folder.remove())

let files = 0
function fileOf(text: string, ending = 'csv'): string {
  const file = join(folder.path, `customers-${++files}.${ending}`)
  writeFileSync(file, text)
  return file
}

describe('customer import', () => {
  test('imports all rows, and none the second time', async () => {
    const { run, hashOf, open } = makeCommandLine()
    const file = fileOf(GOOD)
    assert.deepEqual(await run(['customer', 'import', file]), {
      code: 0,
      stdout: 'Imported: 2, already there: 0, refused: 0.\n',
      stderr: '',
    })
    assert.equal(await hashOf('ANA@example.com'), HASH)
    assert.deepEqual(await run(['customer', 'import', file]), {
      code: 0,
      stdout: 'Imported: 0, already there: 2, refused: 0.\n',
      stderr: '',
    })
    assert.equal(open.now, 0)
    assert.equal(process.listenerCount('SIGINT'), 0)
  })

  test('reports each refused row in one line, without its content, and exits 1', async () => {
    const { run, store } = makeCommandLine()
    const { code, stdout, stderr } = await run([
      'customer',
      'import',
      fileOf(`${GOOD}cleo@example.com,${SECRET},\nana@EXAMPLE.com,${HASH},\n${SECRET}\n`),
    ])
    assert.deepEqual([code, stdout], [1, 'Imported: 2, already there: 0, refused: 3.\n'])
    assert.equal(
      stderr,
      [
        'latchkey: line 4: password_hash: Must be bcrypt of the version $2a$, $2b$ or $2y$.',
        'latchkey: line 5: email: Is the same as in line 2.',
        'latchkey: line 6: Has 1 field, expected 3.',
        'latchkey: Rows were refused: 3.',
        '',
      ].join('\n'),
    )
    assert.equal(store.customers.size, 2)
  })

  test('--dry-run prints the same counts and changes nothing', async () => {
    const { run, store, put } = makeCommandLine()
    await put('BEA@example.com')
    const file = fileOf(`${GOOD}cleo@example.com,${SECRET},\n`)
    const { code, stdout, stderr } = await run(['customer', 'import', file, '--dry-run'])
    assert.deepEqual([code, stdout], [1, 'Dry run, nothing changed. New: 1, already there: 1, refused: 1.\n'])
    assert.match(stderr, /line 4: /)
    assert.equal(store.customers.size, 1)
  })

  test('recognizes the format by the file name extension', async () => {
    for (const [ending, text] of [
      ['CSV', GOOD],
      ['ndjson', JSON.stringify({ email: 'ana@example.com', password_hash: HASH })],
      ['jsonl', JSON.stringify({ email: 'ana@example.com', password_hash: HASH })],
    ] as const) {
      const { run, hashOf } = makeCommandLine()
      assert.equal((await run(['customer', 'import', fileOf(text, ending)])).code, 0)
      assert.equal(await hashOf('ana@example.com'), HASH)
    }
  })

  test('reads standard input, or any file name, with --format', async () => {
    const { run, store } = makeCommandLine()
    assert.equal((await run(['customer', 'import', '-', '--format', 'csv'], GOOD)).code, 0)
    assert.equal((await run(['customer', 'import', fileOf(GOOD, 'txt'), '--format', 'csv'])).code, 0)
    assert.equal(store.customers.size, 2)
  })

  for (const [title, argv, line] of [
    ['a name that shows no format', ['customers.txt'], /the file name does not show the format/],
    ['standard input without a format', ['-'], /the file name does not show the format/],
    ['an unknown format', ['x.csv', '--format', 'xlsx'], /Allowed choices are csv, ndjson/],
    ['no file', [], /missing required argument 'file'/],
  ] as const)
    test(`rejects ${title} as wrong usage`, async () => {
      const { code, stdout, stderr } = await makeCommandLine().run(['customer', 'import', ...argv])
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, line)
      assert.match(stderr, /^latchkey: [^\n]+\n$/)
    })

  test('refuses a path that is no file before it opens the database', async () => {
    const { run } = makeCommandLine({ withStore: () => assert.fail('opened') })
    const missing = join(folder.path, 'none.csv')
    for (const [file, code] of [
      [missing, 'ENOENT'],
      [folder.path, 'EISDIR'],
    ])
      assert.deepEqual(await run(['customer', 'import', file as string, '--format', 'csv']), {
        code: 1,
        stdout: '',
        stderr: `latchkey: ${file} cannot be read (${code}).\n`,
      })
  })

  test('refuses a file without column names in one line', async () => {
    const { run, store } = makeCommandLine()
    const { code, stdout, stderr } = await run(['customer', 'import', fileOf(`ana@example.com,${HASH}\n`)])
    assert.deepEqual([code, stdout, store.customers.size], [1, '', 0])
    assert.match(stderr, /^latchkey: The first line must name the columns[^\n]+\n$/)
    assert.doesNotMatch(stderr, /ana@|\$2y/)
  })

  test('reports ignored columns, such as a mistyped one', async () => {
    const { stderr } = await makeCommandLine().run([
      'customer',
      'import',
      fileOf(`email,password_hash,full\u001bname\nana@example.com,${HASH},Ana\n`),
    ])
    assert.equal(stderr, 'latchkey: Ignored columns: full\ufffdname.\n')
  })

  test('reports the progress when the database fails', async () => {
    const rows = Array.from({ length: 600 }, (_, at) => `customer-${at}@example.com,${HASH},\n`)
    const file = fileOf(`email,password_hash,name\n${rows.join('')}`)
    const command = makeCommandLine()
    const { code, stdout, stderr } = await makeCommandLine({
      withStore: (use) =>
        command.operations.withStore((store) =>
          use({
            ...store,
            async *importCustomers(read) {
              for await (const _ of read) break
              yield { kind: 'settled', added: 500, alreadyThere: 0 }
              throw new Unavailable()
            },
          }),
        ),
    }).run(['customer', 'import', file])
    assert.deepEqual([code, stdout], [1, 'Imported: 500, already there: 0, refused: 0.\n'])
    assert.match(stderr, /^latchkey: The service cannot respond right now[^\n]+\n$/)
  })
})
