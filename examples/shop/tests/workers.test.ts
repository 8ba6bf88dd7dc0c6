import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

const { TEST_DATABASE_URL: url } = process.env
const SKIP = 'TEST_DATABASE_URL is unset: onStart was NOT TESTED WITH SEVERAL WORKERS'

test('onStart runs once with three workers', { skip: url === undefined && SKIP }, async (t) => {
  // The database may have counted earlier starts.
  const first = await startAndStop(t)
  assert.equal(await startAndStop(t), first + 1)
})

/** Starts the service with three workers and stops it. Returns how many starts it has counted, its own included. */
async function startAndStop(t: TestContext): Promise<number> {
  const service = spawn(process.execPath, ['--import', 'tsx', 'main.ts'], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, DATABASE_URL: url, WORKERS: '3', PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(service, 'exit')
  t.after(() => service.kill('SIGKILL'))
  let output = ''
  for await (const chunk of service.stderr) {
    output += chunk
    if (/running at \S+\s/.test(output)) break
  }
  const address = /running at (\S+)/.exec(output)?.[1]
  assert.ok(address, output)
  const { starts } = (await (await fetch(`${address}/api/starts`)).json()) as { starts: number }
  service.kill('SIGTERM')
  await ended
  return starts
}
