import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readHeadings, readTable } from './support/document.ts'

const root = join(import.meta.dirname, '..')
const THREATS = 'docs/security/threat-model.md'
const ASVS = 'docs/security/asvs.md'
const LIMITS = 'docs/security/limits.md'

/** The number of requirements of each section of ASVS 5.0.0, in the chapters that the page has. */
const REQUIREMENTS: Readonly<Record<string, readonly number[]>> = {
  V1: [2, 10, 12, 3, 3],
  V2: [3, 3, 5, 2],
  V4: [5, 5, 2, 4],
  V6: [3, 12, 8, 6, 8, 4, 2, 4],
  V7: [3, 4, 2, 5, 3, 2],
  V8: [4, 4, 3, 2],
  V9: [3, 4],
  V10: [2, 3, 5, 16, 5, 2, 3],
  V11: [4, 5, 5, 4, 2, 2, 2],
  V12: [5, 2, 5],
  V13: [4, 6, 4, 7],
  V14: [2, 8, 3],
  V15: [5, 5, 7, 4],
  V16: [1, 5, 4, 3, 4],
}
const STATUSES = ['met', 'not met', 'not applicable']
/** A test file in backticks, and the title of a test in it. */
const NAMED_TEST = /`((?:examples\/\w+\/)?tests\/[\w./-]+)`: “([^”]+)”/g

/** Returns the paths of files in backticks. */
function findPaths(text: string): readonly string[] {
  return [...text.matchAll(/`((?:[\w.-]+\/)*[\w.-]+\.(?:ts|js|json|sql|md|yaml))`/g)].map(
    ([, path = '']) => path,
  )
}

test('The security documents name only files that exist', () => {
  for (const page of [THREATS, ASVS, LIMITS, 'SECURITY.md']) {
    const paths = findPaths(readFileSync(join(root, page), 'utf8'))
    const missing = paths.filter((path) => !existsSync(join(root, path)))
    assert.deepEqual(missing, [], page)
  }
})

describe('The threat model', () => {
  const boundaries = readTable(THREATS, 'Trust boundaries').map(([name = '']) => name)

  test('has threats for each trust boundary', () => {
    const sections = readHeadings(THREATS).filter((heading) => /^\d /.test(heading))
    assert.deepEqual(
      sections.map((heading) => heading.toLowerCase()),
      boundaries.map((name) => name.toLowerCase()),
    )
  })

  test('names for each threat a test that shows the protection, or says that there is none', () => {
    const headings = readHeadings(THREATS).filter((heading) => /^\d /.test(heading))
    const rows = headings.flatMap((heading) => readTable(THREATS, heading))
    assert.ok(rows.length > 40)
    for (const [threat, , shownBy = ''] of rows) {
      const paths = findPaths(shownBy)
      if (paths.length === 0) assert.match(shownBy, /^none: /, threat)
      for (const path of paths) assert.match(path, /^tests\/.*\.test\.ts$/, threat)
    }
  })
})

describe('The table of ASVS 5.0.0', () => {
  const chapters = readHeadings(ASVS).filter((heading) => /^V\d/.test(heading))

  test('has every requirement of each chapter once, in order', () => {
    assert.deepEqual(
      chapters.map((chapter) => chapter.split(' ')[0]),
      Object.keys(REQUIREMENTS),
    )
    for (const chapter of chapters) {
      const [id = ''] = chapter.split(' ')
      const expected = (REQUIREMENTS[id] ?? []).flatMap((count, section) =>
        Array.from({ length: count }, (_, at) => `${id}.${section + 1}.${at + 1}`),
      )
      assert.deepEqual(
        readTable(ASVS, chapter).map(([requirement]) => requirement),
        expected,
      )
    }
  })

  test('has a level, a subject and a status for each, and a file for what is met', () => {
    for (const chapter of chapters)
      for (const [requirement, level = '', subject, status = '', evidence = ''] of readTable(ASVS, chapter)) {
        assert.match(level, /^[123]$/, requirement)
        assert.notEqual(subject, '', requirement)
        assert.ok(STATUSES.includes(status), requirement)
        assert.notEqual(evidence, '', requirement)
        if (status === 'met') assert.notDeepEqual(findPaths(evidence), [], requirement)
      }
  })

  test('names only tests that exist', () => {
    const named = [...readFileSync(join(root, ASVS), 'utf8').matchAll(NAMED_TEST)]
    assert.ok(named.length >= 10, `${named.length} tests are named`)
    const missing = named.filter(([, path = '', name = '']) => {
      const source = readFileSync(join(root, path), 'utf8')
      return !['it', 'test'].some((call) => source.includes(`${call}('${name}'`))
    })
    assert.deepEqual(
      missing.map(([text]) => text),
      [],
    )
  })

  test('names a test for each requirement of authentication and sessions that is met', () => {
    const rows = chapters
      .filter((chapter) => /^V[67] /.test(chapter))
      .flatMap((chapter) => readTable(ASVS, chapter))
    for (const [requirement, , , status, evidence = ''] of rows)
      if (status === 'met')
        assert.ok(
          findPaths(evidence).some((path) => path.endsWith('.test.ts')),
          requirement,
        )
  })

  test('counts the requirements of authentication and sessions that apply, by level', () => {
    const rows = chapters
      .filter((chapter) => /^V[67] /.test(chapter))
      .flatMap((chapter) => readTable(ASVS, chapter))
    const count = (levels: string) => {
      const applying = rows.filter(
        ([, level = '', , status]) => levels.includes(level) && status !== 'not applicable',
      )
      return `${applying.filter(([, , , status]) => status === 'met').length} of ${applying.length}`
    }
    const stated = `${count('1')} of level 1 are met, and ${count('12')} of levels 1 and 2 together`
    assert.ok(readFileSync(join(root, ASVS), 'utf8').includes(stated), stated)
  })

  test('counts the statuses of each chapter', () => {
    const counts = chapters.map((chapter) => [
      chapter,
      ...STATUSES.map((status) => readTable(ASVS, chapter).filter((row) => row[3] === status).length),
    ])
    const sums = STATUSES.map((_, at) => counts.reduce((sum, row) => sum + Number(row[at + 1]), 0))
    assert.deepEqual(
      readTable(ASVS, 'OWASP ASVS 5.0.0'),
      [...counts, ['together', ...sums]].map((row) => row.map(String)),
    )
  })
})

describe('The documentation of authentication', () => {
  const page = (path: string) => readFileSync(join(root, path), 'utf8')

  test('states how guessing is limited, and which words a password must not consist of', () => {
    const limits = page('docs/concepts/limits.md') + page(LIMITS)
    for (const text of [
      'LOGIN_LIMIT_ACCOUNT',
      'LOGIN_LIMIT_ADDRESS',
      'PUBLIC_URL',
      'PasswordBlocklist',
      '`latchkey`',
    ])
      assert.ok(limits.includes(text), text)
  })

  test('states every way to authenticate, and how long and how many sessions last', () => {
    const tokens = page('docs/concepts/tokens.md').toLowerCase()
    for (const text of ['login token', 'named token', 'service token']) assert.ok(tokens.includes(text), text)
    const sessions = page('docs/how-to/manage-sessions.md')
    for (const text of ['TOKEN_TTL', 'TOKEN_IDLE_TTL', 'LOGIN_SESSIONS', 'LOGIN_SESSIONS_FULL'])
      assert.ok(sessions.includes(text), text)
  })
})

describe('The service', () => {
  test('shows no page that prevents pasting', () => {
    const folder = join(root, 'src/adapters/http')
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /-page\/public\/.*\.(js|html)$/.test(file.replaceAll('\\', '/')),
    )
    assert.ok(files.length > 5)
    for (const file of files)
      assert.doesNotMatch(readFileSync(join(folder, file), 'utf8'), /paste|readonly/i, file)
  })

  test('stores no hint, and no secret question', () => {
    const migrations = readdirSync(join(root, 'sql')).map((file) =>
      readFileSync(join(root, 'sql', file), 'utf8'),
    )
    for (const text of migrations) assert.doesNotMatch(text, /\b(hint|question|answer)\w* (text|varchar)/i)
  })
})

test('Every limit has a value, those who share it, its effect, a metric, a setting and what is stored', () => {
  const rows = ['Logins', 'Tokens', 'Requests', 'Database', 'Logs'].flatMap((heading) =>
    readTable(LIMITS, heading),
  )
  assert.ok(rows.length > 25)
  for (const row of rows) {
    assert.equal(row.length, 8, row[0])
    for (const cell of row) assert.notEqual(cell, '', row[0])
  }
})
