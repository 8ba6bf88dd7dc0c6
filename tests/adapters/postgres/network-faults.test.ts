import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ImmediateCloseClient } from '../../../src/adapters/postgres/connection/immediate-close-client.ts'
import { type DatabasePool, openPool } from '../../../src/adapters/postgres/connection/pool.ts'
import { postgresLoginTokens } from '../../../src/adapters/postgres/login-tokens.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { login, storedCustomer, unrevoked } from '../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'
import { openTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'

const MAX = 4
/** What waits without a limit never ends here, so that any limit proves itself on a busy machine too. */
const ENDLESS_MS = 10_000
const ONE = { name: 'test_one', text: 'select 1 as one' }

describe('The pool during network failures', () => {
  let stores: PostgresStores
  let proxy: TcpProxy
  let pool: DatabasePool
  before(async () => {
    stores = await openPostgresStores()
    proxy = await openTcpProxy(stores.database.url)
    pool = open(proxy.url)
  })
  // A test that fails leaves a network that works to the others.
  afterEach(() => proxy.thaw())
  after(async () => {
    await pool.close()
    await proxy.close()
    await stores.close()
  })

  // Public case 071
  it('rejects in time and stays within its size while the server is frozen, then recovers', async () => {
    await Promise.all(Array.from({ length: 20 }, () => one(pool)))
    proxy.freeze()
    for (let wave = 0; wave < 5; wave += 1) {
      const calls = Array.from({ length: 20 }, () => refusedAfterMs(one(pool, 250)))
      for (const tookMs of await Promise.all(calls)) {
        assert.ok(tookMs >= 200 && tookMs < ENDLESS_MS, `it took ${tookMs} ms`)
        assert.ok(pool.size() <= MAX)
      }
      assert.ok(proxy.connections() <= 2 * MAX, `${proxy.connections()} sockets`)
    }
    proxy.thaw()
    const thawedMs = performance.now()
    while (!(await one(pool).then(Boolean, () => false))) {
      assert.ok(performance.now() - thawedMs < ENDLESS_MS)
      await sleep(20)
    }
    await Promise.all(Array.from({ length: 20 }, () => one(pool)))
  })

  it('closes a socket although the frozen server does not close it', async () => {
    for (const isBusy of [false, true]) {
      const client = new ImmediateCloseClient({ connectionString: proxy.url })
      client.on('error', () => {})
      await client.connect()
      proxy.freeze()
      const query = isBusy ? client.query('select 1').catch(() => {}) : null
      const beganMs = performance.now()
      await client.end()
      await query
      assert.ok(performance.now() - beganMs < ENDLESS_MS)
      proxy.thaw()
    }
  })

  it('rejects with Unavailable when the reply to a commit is lost, although the commit took effect', async () => {
    const cutter = await openTcpProxy(stores.database.url)
    const own = open(cutter.url)
    const customer = await storedCustomer(stores)
    const lossy = { ...stores, loginTokens: postgresLoginTokens(own) }
    const earlier = await login(lossy, customer)
    cutter.cutAfterSending('commit\u0000')
    await assert.rejects(login(lossy, customer), Unavailable)
    const live = await unrevoked(stores, customer.id)
    assert.equal(live.length, 1)
    assert.notEqual(live[0]?.id, earlier.token.id)
    await own.close()
    await cutter.close()
  })

  // Public case 071
  it('rejects in time when no server responds at the address, and leaks no socket', async () => {
    const sockets = new Set<Socket>()
    const blackHole = createServer((socket) => {
      sockets.add(socket)
      socket.resume()
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    })
    blackHole.listen(0, '127.0.0.1')
    await once(blackHole, 'listening')
    const own = open(`postgres://x@127.0.0.1:${(blackHole.address() as AddressInfo).port}/x`)
    for (let wave = 0; wave < 3; wave += 1) {
      const calls = Array.from({ length: 20 }, () => refusedAfterMs(one(own, 300)))
      for (const tookMs of await Promise.all(calls)) assert.ok(tookMs < ENDLESS_MS, `it took ${tookMs} ms`)
      assert.ok(own.size() <= MAX && sockets.size <= MAX)
    }
    const leftMs = performance.now()
    while (own.size() + sockets.size > 0 && performance.now() - leftMs < ENDLESS_MS) await sleep(50)
    assert.deepEqual([own.size(), sockets.size], [0, 0])
    await own.close()
    blackHole.close()
  })

  it('rejects with Unavailable when no server listens or the password is wrong', async () => {
    const unused = createServer().listen(0, '127.0.0.1')
    await once(unused, 'listening')
    const { port } = unused.address() as AddressInfo
    unused.close()
    await once(unused, 'close')
    const unreachable = open(`postgres://x@127.0.0.1:${port}/x`)
    await assert.rejects(
      one(unreachable),
      (error) => error instanceof Unavailable && error.cause instanceof Error,
    )
    await unreachable.close()

    const url = new URL(stores.database.url)
    url.username = 'no_such_role'
    const stranger = open(url.href)
    await assert.rejects(one(stranger), Unavailable)
    await stranger.close()
  })
})

function open(url: string): DatabasePool {
  return openPool({ url, max: MAX, prepared: true, onEvent: () => {} })
}

function one(pool: DatabasePool, timeoutMs = 1000): Promise<unknown> {
  return pool.run(timeoutMs, async (session) => (await session.query(ONE, [])).rows[0]?.one)
}

async function refusedAfterMs(running: Promise<unknown>): Promise<number> {
  const beganMs = performance.now()
  await assert.rejects(running, Unavailable)
  return performance.now() - beganMs
}
