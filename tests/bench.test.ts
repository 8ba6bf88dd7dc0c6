import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildProgram } from './support/built-program.ts'
import { startProcess } from './support/running-process.ts'

const root = join(import.meta.dirname, '..')

test('the benchmark measures the memory of cached validations on the compiled program', async (t) => {
  const program = buildProgram()
  t.after(() => program.remove())
  const args = ['--expose-gc', 'bench/servers/memory.js', join(program.path, '../../dist'), '200']
  const { code, stdout, stderr } = await startProcess(process.execPath, args, { cwd: root }).ended
  assert.equal(code, 0, stderr)
  const { bytes, longestStopMs } = JSON.parse(stdout)
  assert.ok(bytes > 0 && longestStopMs > 0, stdout)
})
