import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  onPackage,
  ownTests,
  type PreparedExample,
  prepareExample,
  typeProblems,
  where,
} from '../support/example.ts'
import { startProcess, UNCOUNTED } from '../support/running-process.ts'
import { sqliteProgram } from '../support/sqlite.ts'

const root = join(import.meta.dirname, '../..')
/** A file from end to end in one process, and one of programs; `TEST_BACKEND=sqlite npm test` runs all of them. */
const FEW = ['guessing', 'named-tokens'].map((name) => `tests/end-to-end/${name}.test.ts`)

describe(`The service on SQLite ${where}`, () => {
  let prepared: PreparedExample
  before(async () => {
    prepared = await prepareExample('sqlite')
  })
  after(() => prepared?.remove())

  // Against the types that a stranger has, which are those of this repository.
  if (onPackage) test('is of the right types', async () => assert.equal(await typeProblems(prepared), ''))

  test('keeps the contracts, in one process and among several, and serves from several', async () => {
    assert.ok((await ownTests(prepared)) > 120)
  })

  test('serves tests from end to end', {
    skip: onPackage && 'these tests are of the repository',
  }, async () => {
    const env = { TEST_BACKEND: 'sqlite', ...sqliteProgram.env, ...UNCOUNTED }
    const args = ['--import', 'tsx', '--test', '--test-reporter=tap', ...FEW]
    const { code, stdout, stderr } = await startProcess(process.execPath, args, { cwd: root, env }).ended
    assert.equal(code, 0, stdout + stderr)
    assert.ok(Number(/^# pass (\d+)$/m.exec(stdout)?.[1]) >= 6, stdout.slice(-500))
  })
})
