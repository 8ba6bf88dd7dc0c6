import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

const root = join(import.meta.dirname, '..')
/** Faults that trials of the product found, by id, each with the tests that show that it is gone. */
const FAULTS: Readonly<Record<string, Fault>> = JSON.parse(
  readFileSync(join(root, 'tests/faults.json'), 'utf8'),
)
/** A name as it is written in the source: of a test with a template, the template. */
const TEST_NAME = /\b(?:describe|test|it|installed)\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs

interface Fault {
  readonly subject: string
  /** The names of tests by file. */
  readonly shownBy: Readonly<Record<string, readonly string[]>>
}

/** Returns a line for each name of the table that is not the name of a test. */
function findMissing(faults: Readonly<Record<string, Fault>>): readonly string[] {
  return Object.entries(faults).flatMap(([id, { shownBy }]) =>
    Object.entries(shownBy).flatMap(([file, names]) => {
      const source = existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : ''
      const found = new Set([...source.matchAll(TEST_NAME)].map(([, , name = '']) => name))
      return names.filter((name) => !found.has(name)).map((name) => `${id}: ${file}: ${name}`)
    }),
  )
}

describe('The table of faults', () => {
  test('has a subject and a test for each fault', () => {
    for (const [id, { subject, shownBy }] of Object.entries(FAULTS)) {
      assert.notEqual(subject, '', id)
      assert.ok(Object.values(shownBy).flat().length > 0, id)
    }
  })

  test('names only tests that exist', () => assert.deepEqual(findMissing(FAULTS), []))

  test('is refused with the name of a test or a file that does not exist', () => {
    const shownBy = {
      'tests/faults.test.ts': ['names only tests that exist', 'no such test'],
      'no.ts': ['a'],
    }
    assert.deepEqual(findMissing({ A1: { subject: 'x', shownBy } }), [
      'A1: tests/faults.test.ts: no such test',
      'A1: no.ts: a',
    ])
  })
})
