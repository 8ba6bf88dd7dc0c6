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

describe(`The throttle in Redis ${where}`, {
  skip: !onPackage && 'tests/deploy/installed.test.ts runs it',
}, () => {
  let prepared: PreparedExample
  before(async () => {
    prepared = await prepareExample('redis-throttle')
  })
  after(() => prepared?.remove())

  test('compiles with the types of the package', async () => assert.equal(await typeProblems(prepared), ''))

  test('passes the contract in one process and in several', {
    skip: !isInstalled('redis-server', '--version') && 'REDIS WAS NOT TESTED: redis-server is not installed',
  }, async () => {
    assert.ok((await ownTests(prepared)) > 40)
  })
})
