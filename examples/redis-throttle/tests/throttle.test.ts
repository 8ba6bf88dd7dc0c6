import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryDatabase } from 'latchkey/adapters/memory'
import { Unavailable } from 'latchkey/ports'
import { createTestApp, databaseContract, loginThrottleContract } from 'latchkey/testing'
import { withRedisThrottle } from '../src/database.ts'
import { createRedisClient, redisLoginThrottle } from '../src/login-throttle.ts'
import { ATTEMPT, LIMITS, TIMEOUT_MS } from './limits.ts'
import { freePort, type RedisServer, startRedis, withoutRedis } from './redis-server.ts'

/** Moves the stored times into the past, which has the effect of a later clock. */
const ADVANCE = `
  for _, key in ipairs(redis.call('keys', '*')) do
    local counts = cjson.decode(redis.call('get', key))
    for _, name in ipairs({ 'since', 'succeeded', 'full' }) do counts[name] = counts[name] - ARGV[1] end
    for index, taken in ipairs(counts.held) do counts.held[index] = taken - ARGV[1] end
    local expires = redis.call('pexpiretime', key) - ARGV[1]
    redis.call('set', key, cjson.encode(counts), 'pxat', math.max(1, expires))
  end`

describe('The throttle in Redis', { skip: withoutRedis }, () => {
  let server: RedisServer
  let client: ReturnType<typeof createRedisClient>
  before(async () => {
    server = await startRedis()
    client = createRedisClient(server.url)
    await client.connect()
  })
  after(async () => {
    await client?.close()
    await server?.stop()
  })

  loginThrottleContract('Redis', async (limits) => {
    await client.flushAll()
    return {
      throttle: redisLoginThrottle(client, limits),
      stall: server.stall,
      advance: async (ms) => void (await client.eval(ADVANCE, { arguments: [`${ms}`] })),
    }
  })

  databaseContract('A database with its throttle in Redis', async () => {
    await client.flushAll()
    return { database: withRedisThrottle(memoryDatabase(), server.url), env: {}, dispose: async () => {} }
  })

  test('of 210 parallel attempts in three processes 10 get a slot', async () => {
    await client.flushAll()
    const children = [1, 2, 3].map(() =>
      fork(join(import.meta.dirname, 'throttle-process.ts'), [server.url], { execArgv: ['--import', 'tsx'] }),
    )
    await Promise.all(children.map((child) => once(child, 'message')))
    const taken = children.map(async (child) => {
      child.send('take')
      return (await once(child, 'message'))[0] as number
    })
    assert.equal(
      (await Promise.all(taken)).reduce((sum, count) => sum + count),
      10,
    )
  })

  test('keys contain no e-mail, and expire', async () => {
    await client.flushAll()
    await redisLoginThrottle(client, LIMITS).take(ATTEMPT, TIMEOUT_MS)
    const keys = await client.keys('*')
    assert.equal(keys.length, 3)
    for (const key of keys) {
      assert.match(key, /^latchkey:[\w-]{43}$/)
      assert.ok((await client.pTTL(key)) > 0, key)
    }
  })

  test('without a connection every call rejects with `Unavailable`, and counts are there after it', async () => {
    await client.flushAll()
    const lost = createRedisClient(server.url)
    const throttle = redisLoginThrottle(lost, LIMITS)
    await assert.rejects(throttle.take(ATTEMPT, TIMEOUT_MS), Unavailable)
    await lost.connect()
    assert.equal((await throttle.take(ATTEMPT, TIMEOUT_MS)).kind, 'taken')
    await lost.close()
    await assert.rejects(throttle.take(ATTEMPT, TIMEOUT_MS), Unavailable)
  })

  test('a client connects again to a server that stalled for longer than the timeout of its socket', async (t) => {
    const lost = createRedisClient(server.url, { socketTimeoutMs: 500 })
    t.after(() => lost.isOpen && lost.destroy())
    await lost.connect()
    const { take } = redisLoginThrottle(lost, LIMITS)
    const failed = once(lost, 'error')
    const release = await server.stall()
    const [error] = await failed.finally(release)
    assert.match(`${error}`, /Socket timeout/)
    const attempt = { ...ATTEMPT, account: 'stalled' }
    const deadlineMs = performance.now() + TIMEOUT_MS
    for (let kind = ''; kind !== 'taken'; ) {
      assert.ok(performance.now() < deadlineMs)
      await sleep(50)
      kind = (await take(attempt, TIMEOUT_MS).catch(() => ({ kind: '' }))).kind
    }
  })

  test('a service starts without Redis, and its logins return 503', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`
    const app = await createTestApp({ database: withRedisThrottle(memoryDatabase(), url) })
    const { email, password } = await app.customer()
    const { status } = await app.call('/api/login', { body: { email, password } })
    await app.close()
    assert.equal(status, 503)
  })

  test('an address that is not one of Redis is refused before the database is opened', async () => {
    let isOpen = false
    const { open, ...others } = memoryDatabase()
    const opened: typeof open = (...args) => {
      isOpen = true
      return open(...args)
    }
    await assert.rejects(createTestApp({ database: withRedisThrottle({ ...others, open: opened }, 'x') }))
    assert.equal(isOpen, false)
  })

  test('a server that cannot write rejects with `Unavailable`', async () => {
    await client.configSet('maxmemory', '1')
    const { take } = redisLoginThrottle(client, LIMITS)
    await assert
      .rejects(take(ATTEMPT, TIMEOUT_MS), Unavailable)
      .finally(() => client.configSet('maxmemory', '0'))
  })
})
