import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { DOCUMENT, renderDocument } from './report.ts'
import { ROWS } from './rows.ts'

describe('The document of the proof', () => {
  test('lists each row either in its table or as not run yet', () => {
    const document = readFileSync(DOCUMENT, 'utf8')
    const [, listed = ''] = /^Not yet run at that size.*: (.*)\.$/m.exec(document) ?? []
    const tabled = [...document.matchAll(/^\| ([A-Z]\w+) /gm)].map(([, id]) => id)
    assert.deepEqual(
      [...tabled, ...listed.split(' ')].filter(Boolean).sort(),
      ROWS.map(({ id }) => id).sort(),
    )
  })

  test('lists no row as not run when every row was run', () => {
    const result = { trials: 1, failures: 0, notes: [], seconds: 1, mutants: [], where: 'here' }
    const all = Object.fromEntries(ROWS.map(({ id }) => [id, result]))
    assert.doesNotMatch(renderDocument(ROWS, all), /Not yet run/)
  })
})
