import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFaultyPorts, type PortRun } from './faulty-ports.ts'

const ports = createFaultyPorts()
after(() => ports.close())

const counter = ports.named('counter', {
  count: 0,
  add(more: number): number {
    this.count += more
    return this.count
  },
  async later(): Promise<number> {
    await sleep(1)
    return this.count
  },
})
const clock = ports.named('clock', { nowMs: () => 7 })

describe('Faulty ports', () => {
  it('count the calls of a run for each port, and record which ones are asynchronous', async () => {
    const run: PortRun = { calls: [] }
    await ports.during(run, async () => {
      counter.add(1)
      clock.nowMs()
      await counter.later()
      counter.add(1)
    })
    clock.nowMs()
    assert.deepEqual(run.calls, [
      { port: 'counter', method: 'add', n: 1, isAsync: false },
      { port: 'clock', method: 'nowMs', n: 1, isAsync: false },
      { port: 'counter', method: 'later', n: 2, isAsync: true },
      { port: 'counter', method: 'add', n: 3, isAsync: false },
    ])
  })

  it('change the fate of one call of one run', async () => {
    const call = { port: 'counter', method: 'add', n: 2, isAsync: false }
    const struck = { call, fate: (proceed: () => unknown, last: unknown) => [proceed(), last] }
    const before = counter.count
    const others = ports.during({ calls: [] }, async () => [counter.add(1), counter.add(1)])
    const seen = await ports.during({ calls: [], struck }, async () => [
      counter.add(1),
      counter.add(1),
      counter.add(1),
    ])
    assert.deepEqual(await others, [before + 1, before + 2])
    assert.deepEqual(seen, [before + 3, [before + 4, 1], before + 5])
  })

  it('recognize a request of a run by its id, also among others on the same connection', async () => {
    const server = createServer(async (_, response) => {
      await sleep(1)
      response.end(String(counter.add(0) + clock.nowMs()))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ask = async (headers: Record<string, string>) => (await fetch(url, { headers })).text()
    try {
      const run: PortRun = { calls: [] }
      await ask({})
      await ports.during(run, (requestId) => ask({ 'X-Request-Id': requestId }))
      await ask({})
      await ask({ 'X-Request-Id': 'another' })
      assert.deepEqual(
        run.calls.map(({ port, n }) => `${port} ${n}`),
        ['counter 1', 'clock 1'],
      )
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })
})
