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
/** One test file that runs in this process and one that starts programs. `TEST_BACKEND=sqlite npm test` runs all. */
const FEW = ['guessing', 'named-tokens'].map((name) => `tests/end-to-end/${name}.test.ts`)

describe(`The service on SQLite ${where}`, () => {
  let prepared: PreparedExample
  before(async () => {
    prepared = await prepareExample('sqlite')
  })
  after(() => prepared?.remove())

  // In the repository, tsc already checks these types.
  if (onPackage)
    test('compiles with the types of the package', async () => assert.equal(await typeProblems(prepared), ''))

  test('passes the contracts in one process and in several, and serves from several', {
    skip: process.env.TEST_LONG ? false : 'it takes two minutes: TEST_LONG=1 runs it',
  }, async () => {
    assert.ok((await ownTests(prepared)) > 120)
  })

  test('passes end-to-end tests', {
    skip: onPackage && 'these tests are not in the package',
  }, async () => {
    const env = { TEST_BACKEND: 'sqlite', ...sqliteProgram.env, ...UNCOUNTED }
    const args = ['--import', 'tsx', '--test', '--test-reporter=tap', ...FEW]
    const { code, stdout, stderr } = await startProcess(process.execPath, args, { cwd: root, env }).ended
    assert.equal(code, 0, stdout + stderr)
    assert.ok(Number(/^# pass (\d+)$/m.exec(stdout)?.[1]) >= 6, stdout.slice(-500))
  })
})
