import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { programSuite } from '../support/program-suite.ts'
import { onSqlite } from '../support/sqlite.ts'

const suite = programSuite()
/** Long enough to keep a request in flight, and thus the drain open, during a test. */
const LASTING = { DRAIN_DEADLINE: '1m', HEADERS_TIMEOUT: '1m', REQUEST_TIMEOUT: '1m' }

/** Starts a request without its body. Resolves once the service waits for the body. */
async function beginRequest(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  const fields = ['Content-Type: application/json', 'Content-Length: 2', 'Expect: 100-continue']
  socket.write(['POST /api/login HTTP/1.1', 'Host: a', ...fields, '', ''].join('\r\n'))
  await once(socket, 'data')
  return socket
}

for (const [title, workers] of [
  ['a service', '1'],
  ['a service of two workers', '2'],
] as const)
  describe(`${title} that drains`, () => {
    // Workers on SQLite do not publish changes to each other.
    const uncached: Record<string, string> = onSqlite && workers !== '1' ? { TOKEN_CACHE_TTL: '0s' } : {}
    const start = (env: Record<string, string>) => suite.start({ WORKERS: workers, ...uncached, ...env })

    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      test(`treats an immediate repeat of ${signal} as one signal`, async () => {
        const { service } = await start({ DRAIN_DELAY: '1s' })
        // Some signals arrive separately; the system merges others.
        for (let i = 0; i < 20; i++) service.child.kill(signal)
        const { code, stdout } = await service.ended
        assert.match(stdout, /"service\.stopped"/)
        assert.doesNotMatch(stdout, /ended_at_once/)
        assert.equal(code, 0)
      })

    for (const [first, second] of [
      ['SIGTERM', 'SIGINT'],
      ['SIGINT', 'SIGTERM'],
    ] as const)
      test(`exits immediately at ${second} after ${first}`, async () => {
        const { service, port } = await start({ DRAIN_DELAY: '1m', ...LASTING })
        const socket = await beginRequest(port)
        service.child.kill(first)
        await service.until(/"service\.stopping"/)
        service.child.kill(second)
        const { code, stdout, stderr } = await service.ended
        socket.destroy()
        assert.match(stdout, new RegExp(`"signal":"${second}","event":"service\\.ended_at_once"`))
        assert.doesNotMatch(stderr, /\n\s+at /)
        assert.equal(code, 1)
      })

    test('exits immediately if the same signal is repeated later', async () => {
      const { service } = await start({ DRAIN_DELAY: '1m' })
      const isOver = service.ended.then(() => true)
      do service.child.kill('SIGTERM')
      while (!(await Promise.race([isOver, sleep(1000, false)])))
      const { code, stdout } = await service.ended
      assert.match(stdout, /"signal":"SIGTERM","event":"service\.ended_at_once"/)
      assert.equal(code, 1)
    })

    test('opens no debugger at SIGUSR1, in no process', async () => {
      const { service, port } = await start({})
      const { pid } = service.child
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
      assert.equal(children.filter(Boolean).length, workers === '1' ? 0 : 2)
      for (const each of [pid, ...children.filter(Boolean)]) process.kill(Number(each), 'SIGUSR1')
      // It would be reported before the response to a later request.
      for (let i = 0; i < 20; i++) assert.equal((await fetch(`http://127.0.0.1:${port}/livez`)).status, 200)
      service.child.kill('SIGTERM')
      const { code, stderr } = await service.ended
      assert.equal(code, 0)
      assert.doesNotMatch(stderr, /Debugger listening/)
    })

    test('continues to drain after SIGHUP and SIGPIPE', async () => {
      const { service, port } = await start(LASTING)
      const socket = await beginRequest(port)
      service.child.kill('SIGTERM')
      await service.until(/"service\.stopping"/)
      for (const signal of ['SIGHUP', 'SIGPIPE', 'SIGHUP'] as const) {
        service.child.kill(signal)
        await sleep(50)
      }
      socket.write('{}')
      const [response] = await once(socket, 'data')
      assert.match(String(response), /^HTTP\/1\.1 422 /)
      const { code, stdout } = await service.ended
      assert.doesNotMatch(stdout, /ended_at_once|settings\./)
      assert.match(stdout, /"service\.stopped"/)
      assert.equal(code, 0)
    })
  })
