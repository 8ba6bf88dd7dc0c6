import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { waitForStableFiles } from '../../../src/adapters/config/stable-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-stable-'))
after(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'tokens')
const files = [{ name: 'SERVICE_TOKENS_FILE', path }]

test('a file that keeps changing is named', async () => {
  writeFileSync(path, 'monitor=')
  const writer = setInterval(() => appendFileSync(path, 'x'), 20)
  const changing = await waitForStableFiles(files, { stillMs: 5000, timeoutMs: 300 })
  clearInterval(writer)
  assert.deepEqual(changing, ['SERVICE_TOKENS_FILE'])
})

test('a file is stable once it stays the same, whatever its time says', async () => {
  writeFileSync(path, 'monitor=x')
  const later = new Date(Date.now() + 3_600_000)
  utimesSync(path, later, later)
  assert.deepEqual(await waitForStableFiles(files, { stillMs: 200, timeoutMs: 60_000 }), [])
})

test('an old file and a missing one are stable at once', async () => {
  utimesSync(path, 1, 1)
  const missing = { name: '.env', path: join(folder, 'missing') }
  assert.deepEqual(await waitForStableFiles([...files, missing], { timeoutMs: -1 }), [])
})
