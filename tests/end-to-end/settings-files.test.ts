import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { findNodes } from '../support/nodes.ts'
import { latchkeyProgram, startProcess, temporaryFolder } from '../support/running-process.ts'

const READ = { port: 4001, dataDir: './d' }
const LONG = `./${'x'.repeat(1_000_000)}`
const NOT_ASSIGNMENT = 'is not NAME=value, a # comment or blank.'
const OPEN_QUOTE = 'has a quoted value that does not end with the same quote on that line.'
const BACKSLASH = 'has a backslash between double quotes; use single quotes, in which it stands for itself.'
const HASH = 'has a # in its value: put the value between quotes, or a space before the comment.'
const NOT_UTF8 = 'is not UTF-8 text. Save the file as UTF-8.'

const utf16 = (text: string) => Buffer.from(text, 'utf16le')
const refused = (...lines: readonly (readonly [number, string])[]) =>
  lines.map(([line, problem]) => `.env: Line ${line} ${problem}`)

/** What a `.env` file has, its content, and the settings that every Node reads or the refusal that every Node prints. */
const FILES: readonly (readonly [string, string | Buffer, object])[] = [
  ['two settings', 'PORT=4001\nDATA_DIR=./d\n', READ],
  ['nothing', '', { port: 3000, dataDir: null }],
  ['UTF-8 with a byte-order mark', '\ufeffPORT=4001\nDATA_DIR=./d', READ],
  ['UTF-8 beyond ASCII', 'PORT=4001\nDATA_DIR=./dätä-数据-🔑', { port: 4001, dataDir: './dätä-数据-🔑' }],
  ['UTF-16 with a byte-order mark', utf16('\ufeffPORT=4001\n'), refused([1, NOT_UTF8])],
  ['UTF-16 in the other byte order', utf16('\ufeffPORT=4001\n').swap16(), refused([1, NOT_UTF8])],
  ['UTF-16 without a mark', utf16('PORT=4001\n'), refused([1, NOT_UTF8])],
  ['Latin-1', Buffer.from('PORT=4001\nDATA_DIR=./dä\n', 'latin1'), refused([2, NOT_UTF8])],
  ['half a surrogate pair', Buffer.from([0x41, 0x3d, 0xed, 0xa0, 0x80]), refused([1, NOT_UTF8])],
  ['a NUL character', 'PORT=4001\r\n\nDATA_DIR=./d\0\n', refused([3, NOT_UTF8])],
  ['line breaks of Windows', 'PORT=4001\r\nDATA_DIR=./d\r\n', READ],
  ['carriage returns alone', 'PORT=4001\rDATA_DIR=./d\r', READ],
  ['line breaks of three kinds', 'PORT=4001\r\nDATA_DIR=./d\nHOST=::1\r!', refused([4, NOT_ASSIGNMENT])],
  [
    'separators that are no line breaks',
    'PORT=4001\nDATA_DIR=a\u2028b\u0085c\vd',
    dataDir('a\u2028b\u0085c\vd'),
  ],
  [
    'merge markers',
    '<<<<<<< HEAD\nPORT=4001\n=======\nPORT=4002\n>>>>>>> a=b\n',
    refused([1, NOT_ASSIGNMENT], [3, NOT_ASSIGNMENT], [5, NOT_ASSIGNMENT]),
  ],
  ['single quotes', "PORT='4001'\nDATA_DIR=' a#b \"c\" $HOME \\n '", dataDir(' a#b "c" $HOME \\n ')],
  ['double quotes', 'PORT="4001"\nDATA_DIR=" a#b \'c\' $HOME "', dataDir(" a#b 'c' $HOME ")],
  ['back quotes', 'PORT=`4001`\nDATA_DIR=`./d`', READ],
  ['a quote inside of a value', "PORT=4001\nDATA_DIR=it's", dataDir("it's")],
  ['a quote that is not closed', 'PORT=4001\nDATA_DIR="./d\nHOST=::1', refused([2, OPEN_QUOTE])],
  ['text behind a quote', 'PORT="4001"2', refused([1, OPEN_QUOTE])],
  ['a value of two lines', 'DATA_DIR="a\nb"\nPORT=4001', refused([1, OPEN_QUOTE], [2, NOT_ASSIGNMENT])],
  ['a line break as an escape sequence', 'PORT=4001\nDATA_DIR="a\\nb"', refused([2, BACKSLASH])],
  ['a backslash at the end of a line', 'DATA_DIR=a\\\nPORT=4001', dataDir('a\\')],
  ['export', 'export PORT=4001\n  export\tDATA_DIR=./d', READ],
  ['export without a value', 'export PORT\nDATA_DIR=./d', refused([1, NOT_ASSIGNMENT])],
  ['comments', '# a\n\t #PORT=1\n#\nPORT=4001 # "b\nDATA_DIR="./d"# c\n', READ],
  ['a comment of another language', '// the port\nPORT=4001', refused([1, NOT_ASSIGNMENT])],
  ['a # inside of a value', 'PORT=4001\nDATA_DIR=a#b', refused([2, HASH])],
  ['a comment as the value', 'PORT=4001\nDATA_DIR=./d\nDATA_DIR= # none', { port: 4001, dataDir: null }],
  ['a name twice', 'PORT=1\nDATA_DIR=./d\nPORT=4001', READ],
  ['a colon', 'PORT: 4001', refused([1, NOT_ASSIGNMENT])],
  ['a heading before a setting', 'Settings\nPORT=4001', refused([1, NOT_ASSIGNMENT])],
  ['a section', '[latchkey]\nPORT=4001', refused([1, NOT_ASSIGNMENT])],
  ['a tab before the name', '\tPORT=4001\n\tDATA_DIR=./d', READ],
  ['spaces around =', 'PORT = 4001 \nDATA_DIR\t=\t./d', READ],
  ['a space that is not ASCII', '\u00a0PORT=4001', refused([1, NOT_ASSIGNMENT])],
  ['an empty value', 'PORT=\nDATA_DIR=""', { port: 3000, dataDir: null }],
  ['a name with a space', 'MY PORT=4001', refused([1, NOT_ASSIGNMENT])],
  ['a name that begins with a digit', '1PORT=4001', refused([1, NOT_ASSIGNMENT])],
  ['no name', '=4001', refused([1, NOT_ASSIGNMENT])],
  ['names of object properties', '__proto__=x\nconstructor=x\nPORT=4001\nDATA_DIR=./d', READ],
  ['a line of a million characters', `PORT=4001\nDATA_DIR=${LONG}`, dataDir(LONG)],
  [
    'a million spaces in a value',
    `PORT=4001\nDATA_DIR=a${' '.repeat(1e6)}b`,
    dataDir(`a${' '.repeat(1e6)}b`),
  ],
]

function dataDir(text: string) {
  return { port: 4001, dataDir: text }
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>
before(async () => {
  folder = await temporaryFolder()
  for (const [at, [, content]] of FILES.entries()) {
    mkdirSync(join(folder.path, `${at}`))
    writeFileSync(join(folder.path, `${at}/.env`), content)
  }
})
after(() => folder.remove())

for (const { name, path } of findNodes())
  describe(`A settings file on ${name}`, { skip: path === null && `NOT TESTED on ${name}` }, () => {
    const node = path ?? ''

    test(`is read or refused as the table says, for each of ${FILES.length} files`, async (t) => {
      const program = join(import.meta.dirname, 'fixtures/read-settings.ts')
      const folders = FILES.map((_, at) => join(folder.path, `${at}`))
      const { code, stdout, stderr } = await startProcess(node, ['--import', 'tsx', program, ...folders], {
        cwd: join(import.meta.dirname, '../..'),
      }).ended
      assert.deepEqual([code, stderr], [0, ''])
      const results = JSON.parse(stdout)
      for (const [at, [title, , expected]] of FILES.entries()) assert.deepEqual(results[at], expected, title)
      t.diagnostic(`${results.length} files read or refused as expected`)
    })

    test('stops a command with exit code 1 and its line number', async () => {
      const at = FILES.findIndex(([title]) => title === 'merge markers')
      const options = { cwd: join(folder.path, `${at}`), env: latchkeyProgram.env }
      const { code, stdout, stderr } = await startProcess(node, [...latchkeyProgram.args, 'serve'], options)
        .ended
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(
        stderr,
        /^latchkey: \.env: Line 1 .*\nlatchkey: \.env: Line 3 .*\nlatchkey: \.env: Line 5 .*\n$/,
      )
    })
  })
