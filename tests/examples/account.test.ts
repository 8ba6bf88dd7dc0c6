import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  onPackage,
  ownTests,
  type PreparedExample,
  prepareExample,
  typeProblems,
  where,
} from '../support/example.ts'

describe(`The accounts ${where}`, () => {
  let prepared: PreparedExample
  let database: TestDatabase
  before(async () => {
    prepared = await prepareExample('account')
    database = await createTestDatabase({ migrated: false })
  })
  after(async () => {
    await database?.drop()
    prepared?.remove()
  })

  // Only there, npm installs the example's own packages.
  if (onPackage)
    test('compiles with the types of the package', async () => assert.equal(await typeProblems(prepared), ''))

  test('passes its tests', async () => {
    assert.ok((await ownTests(prepared, { TEST_DATABASE_URL: database.url })) >= 10)
  })
})
