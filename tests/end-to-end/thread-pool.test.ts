import assert from 'node:assert/strict'
import { pbkdf2 } from 'node:crypto'
import { it } from 'node:test'
import { promisify } from 'node:util'
import { parseThreadPoolSize } from '../../src/adapters/config/hashing-threads.ts'
import { createTestApp } from '../../src/testing/test-app.ts'

it('A request with a cached token uses no thread of the pool, which password hashing may occupy', async () => {
  const app = await createTestApp()
  try {
    const caller = await app.as(await app.customer(), { abilities: ['*'] })
    const me = async () => (await caller.call('/api/me')).status
    assert.equal(await me(), 200)
    const threads = parseThreadPoolSize(process.env.UV_THREADPOOL_SIZE)
    let busy = threads
    // Seconds of work for each thread.
    const work = Array.from({ length: threads }, async () => {
      await promisify(pbkdf2)('password', 'salt', 2_000_000, 64, 'sha512')
      busy--
    })
    assert.deepEqual([await me(), busy], [200, threads])
    await Promise.all(work)
  } finally {
    await app.close()
  }
})
