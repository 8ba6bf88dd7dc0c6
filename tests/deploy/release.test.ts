import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startProcess, temporaryFolder, UNCOUNTED } from '../support/running-process.ts'

const ROOT = join(import.meta.dirname, '../..')
const hasHistory = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT }).status === 0

test('two runs of the release script give the same bytes', {
  skip: hasHistory ? false : 'SKIPPED: this checkout has no history',
}, async (t) => {
  const { path, remove } = await temporaryFolder()
  const checkout = join(path, 'checkout')
  // The committed state, whatever this checkout contains.
  execFileSync('git', ['worktree', 'add', '--detach', checkout, 'HEAD'], { cwd: ROOT, stdio: 'pipe' })
  t.after(() => {
    execFileSync('git', ['worktree', 'remove', '--force', checkout], { cwd: ROOT, stdio: 'pipe' })
    remove()
  })
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
  const run = async (name: string) => {
    const args = ['--import', 'tsx', 'deploy/release.ts', join(path, name)]
    const { code, stderr, stdout } = await startProcess(process.execPath, args, {
      cwd: checkout,
      env: UNCOUNTED,
    }).ended
    assert.equal(code, 0, stderr)
    return stdout
  }
  const first = await run('first')
  assert.equal(await run('second'), first)
  const files = readdirSync(join(path, 'first'))
  assert.equal(files.length, 3)
  for (const file of files)
    assert.ok(readFileSync(join(path, 'first', file)).equals(readFileSync(join(path, 'second', file))), file)
  execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: join(path, 'first'), stdio: 'pipe' })
  const bill = JSON.parse(
    readFileSync(join(path, 'first', files.find((name) => name.endsWith('.cdx.json')) as string), 'utf8'),
  )
  assert.ok(bill.components.some(({ name }: { name: string }) => name === 'pg-copy-streams'))
  const full = await startProcess(
    process.execPath,
    ['--import', 'tsx', 'deploy/release.ts', join(path, 'first')],
    { cwd: checkout, env: UNCOUNTED },
  ).ended
  assert.equal(full.code, 1)
  assert.match(full.stderr, /is not empty/)
})
