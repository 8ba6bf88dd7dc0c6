import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isInstalled } from '../support/balancer.ts'
import {
  onPackage,
  ownTests,
  type PreparedExample,
  prepareExample,
  typeProblems,
  where,
} from '../support/example.ts'

const missing = isInstalled('mariadbd', '--version') ? null : 'mariadb-server is not installed'
const problem = missing ?? (process.env.TEST_LONG ? null : 'it takes over a minute: TEST_LONG=1 runs it')
const skip = problem !== null && `MARIADB WAS NOT TESTED: ${problem}`

describe(`The service on MariaDB ${where}`, {
  skip: !onPackage && 'tests/deploy/installed.test.ts runs it',
}, () => {
  let prepared: PreparedExample
  before(async () => {
    prepared = await prepareExample('mariadb')
  })
  after(() => prepared?.remove())

  test('compiles with the types of the package', async () => assert.equal(await typeProblems(prepared), ''))

  test('passes the contracts in one process and in several, and serves from several', {
    skip,
  }, async () => {
    assert.ok((await ownTests(prepared)) > 150)
  })
})
