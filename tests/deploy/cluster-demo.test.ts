import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasHaProxy } from '../support/haproxy.ts'
import { startProcess, temporaryFolder } from '../support/running-process.ts'

const ROOT = join(import.meta.dirname, '../..')
const PROGRAM = ['--import', 'tsx', 'deploy/cluster-demo.ts']
const skip = hasHaProxy() ? false : 'HAProxy is not installed'

test('the commands printed by the demo of four instances work, a logout applies to all, and Ctrl-C cleans up', {
  skip,
}, async (t) => {
  const { path: TMPDIR, remove } = await temporaryFolder()
  t.after(remove)
  const demo = startProcess(process.execPath, PROGRAM, { cwd: ROOT, env: { TMPDIR }, input: null })
  await demo.until(/Ctrl-C/)
  const shown = demo.stdout()
  const lines = shown.split('\n').filter((line) => line.startsWith('  '))
  const pasted = await startProcess('sh', ['-eu'], { cwd: TMPDIR, input: lines.join('\n') }).ended
  assert.equal(pasted.stderr, '')
  const responses = pasted.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    responses.map(({ success, reason, customer }) => customer?.email ?? reason ?? success),
    [...Array(4).fill('demo@example.com'), true, ...Array(4).fill('invalid_token')],
  )

  demo.child.kill('SIGINT')
  const { code, stderr } = await demo.ended
  assert.deepEqual([code, stderr], [0, ''])
  const ports = new Set([...shown.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port)))
  assert.equal(ports.size, 5)
  for (const port of ports) await assert.rejects(connected(port), { code: 'ECONNREFUSED' })
  const { stdout: left } = await startProcess('find', ['.', '-name', 'latchkey-*'], { cwd: TMPDIR }).ended
  assert.equal(left, '')
})

test('the demo reports a missing HAProxy in one line', async (t) => {
  const { path: empty, remove } = await temporaryFolder()
  t.after(remove)
  const { code, stdout, stderr } = await startProcess(process.execPath, PROGRAM, {
    cwd: ROOT,
    env: { PATH: empty },
  }).ended
  assert.deepEqual([code, stdout], [1, ''])
  assert.equal(stderr, 'cluster-demo: HAProxy is not installed: on Debian, apt-get install haproxy.\n')
})

function connected(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve()
    })
    socket.once('error', reject)
  })
}
