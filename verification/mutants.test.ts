import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startProcess } from '../tests/support/running-process.ts'
import { applyMutant, withMutant } from './mutant-tree.ts'
import { ROWS } from './rows.ts'

const root = join(import.meta.dirname, '..')

describe('The mutants of the proof', () => {
  for (const row of ROWS) {
    test(`of ${row.id} fit the current source`, () => {
      assert.ok(row.mutants.length > 0, 'a row without a mutant does not prove that it can fail')
      for (const mutant of row.mutants) {
        const source = readFileSync(join(root, mutant.file), 'utf8')
        assert.notEqual(applyMutant(source, mutant), source)
      }
    })
  }

  test('run in a complete copy of the checkout, so that none fails for a missing file', async () => {
    const harmless = {
      name: 'harmless',
      file: 'src/main.ts',
      find: '({ version, title',
      replace: '({ version: version, title',
    }
    const { code, stdout, stderr } = await withMutant(root, harmless, (tree) => {
      const env = { DATABASE_URL: 'postgres://unused@127.0.0.1:1/none' }
      return startProcess(process.execPath, [join(tree, 'bin/latchkey.js'), 'routes'], { cwd: tree, env })
        .ended
    })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /\/docs/)
  })

  test('are rejected when they fit no place or two', () => {
    const mutant = { name: 'm', file: 'f', find: 'a', replace: 'b' }
    assert.throws(() => applyMutant('xyz', mutant), /fits 0 places/)
    assert.throws(() => applyMutant('a a', mutant), /fits 2 places/)
  })
})
