import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { openAuditLog } from '../../src/adapters/pino/audit-log.ts'
import { DEPLOY, isInstalled } from '../support/balancer.ts'
import { startProcess, temporaryFolder } from '../support/running-process.ts'

const SHIPPED = '/var/log/latchkey/audit.jsonl'
const ROTATIONS = 6
const EVENTS = 100_000

test('the configuration for logrotate loses none of 100,000 audit events of two writers', {
  skip: !isInstalled('logrotate', '--version') && 'LOGROTATE WAS NOT TESTED: it is not installed',
}, async (t) => {
  const folder = await temporaryFolder()
  t.after(() => folder.remove())
  const path = join(folder.path, 'audit.jsonl')
  const configuration = join(folder.path, 'configuration')
  const text = readFileSync(join(DEPLOY, 'latchkey.logrotate'), 'utf8')
  assert.ok(text.includes(`\n${SHIPPED} {\n`))
  writeFileSync(configuration, text.replace(SHIPPED, path), { mode: 0o600 })
  const writers = [openAuditLog({ path }), openAuditLog({ path })]
  let isDone = false
  let written = 0
  const rotations = rotate().finally(() => {
    isDone = true
  })
  // Until the rotations are done, and once more for the file after the last one.
  for (let more = true; more; await setImmediate()) {
    more = !isDone
    for (let n = 0; n < 50; n++)
      for (const { record } of writers) record('customer.added', { customerId: 'c', count: written++ })
  }
  await rotations
  for (const { close } of writers) close()
  const files = readdirSync(folder.path).filter((name) => /^audit\.jsonl(?!\.reserve)/.test(name))
  const lines = files.flatMap((name) => {
    const bytes = readFileSync(join(folder.path, name))
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString().trim().split('\n')
  })
  assert.equal(files.length, ROTATIONS + 1)
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).count).sort((a, b) => a - b),
    Array.from({ length: written }, (_, n) => n),
  )
  assert.ok(written >= EVENTS)
  t.diagnostic(`${written} events in ${files.length} files, 0 lost`)

  async function rotate(): Promise<void> {
    for (let n = 0; n < ROTATIONS; n++) {
      // The rotations are spread over the events. An empty file is not rotated.
      while (written <= ((n + 1) * EVENTS) / ROTATIONS) await setImmediate()
      const args = ['--force', '--state', join(folder.path, 'state'), configuration]
      const { code, stderr } = await startProcess('logrotate', args, { cwd: folder.path }).ended
      assert.deepEqual([code, stderr], [0, ''])
    }
  }
})
