import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { callAt } from '../../src/testing/call.ts'
import { fencedBlocks } from '../support/fenced-blocks.ts'
import { EMAIL, PASSWORD, programSuite } from '../support/program-suite.ts'
import { openTcpProxy } from '../support/tcp-proxy.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const suite = programSuite()

test('the documented command leads from a request id to access log, failure, audit event and trace', async (t) => {
  const proxy = await openTcpProxy(suite.database().url)
  t.after(() => proxy.close())
  const { service, url } = await suite.start({
    DATABASE_URL: proxy.url,
    ACCESS_LOG: 'all',
    AUDIT_LOG: 'audit.jsonl',
  })
  const login = (id: string, password: string) =>
    callAt(url, '/api/login', {
      body: { email: EMAIL, password },
      headers: { 'X-Request-Id': id, traceparent: `00-${TRACE}-00f067aa0ba902b7-01` },
    })
  await login('r-refused', 'wrong')
  proxy.refuse()
  assert.equal((await login('r-failed', PASSWORD)).status, 503)
  service.child.kill('SIGTERM')
  const { stdout } = await service.ended
  writeFileSync(join(suite.folder(), 'latchkey.jsonl'), stdout)

  const [command = ''] = fencedBlocks('docs/operations/monitoring.md', 'sh').filter((block) =>
    block.startsWith('grep'),
  )
  const find = (id: string) => {
    const adapted = command
      .replace(/"request_id":"[^"]+"/, `"request_id":"${id}"`)
      .replace('/var/log/latchkey/', `${suite.folder()}/`)
    const found = execFileSync('sh', ['-c', adapted], { encoding: 'utf8' })
    return found
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }
  const refused = find('r-refused')
  assert.deepEqual(refused.map(({ event }) => event).sort(), ['login.failed', 'request'])
  const failed = find('r-failed')
  assert.deepEqual(failed.map(({ event }) => event).sort(), ['request', 'request.failed'])
  for (const lines of [refused, failed])
    assert.equal(lines.find(({ event }) => event === 'request').trace_id, TRACE)
})
