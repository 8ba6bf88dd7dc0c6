import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { it } from 'node:test'

it('every sentence of the contracts fails on a stub that answers constants', () => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const stub = join(import.meta.dirname, 'fixtures', 'constants.ts')
  const { stdout, status } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--test', '--test-reporter=tap', stub],
    { env, encoding: 'utf8' },
  )
  assert.notEqual(status, 0)
  const kept = [...stdout.matchAll(/^ +ok \d+ - (.*)$/gm)].map(([, sentence]) => sentence)
  assert.deepEqual(kept, [])
  assert.ok([...stdout.matchAll(/^ +not ok \d+ - /gm)].length > 40)
})
