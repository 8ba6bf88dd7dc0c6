import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPostmaster, stopPostmaster } from '../../src/adapters/embedded-postgres/postmaster.ts'
import { callAt } from '../../src/testing/call.ts'
import { startLatchkey, temporaryFolder, UNTHROTTLED } from '../support/running-process.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

/** Listens on a port of 127.0.0.1; null where it is taken. */
function listenOn(port: number): Promise<Server | null> {
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve) => {
    server.once('error', () => resolve(null))
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

/** Kills the server of a cluster until its port belongs to this process. */
async function takePort(cluster: string, port: number): Promise<Server> {
  for (;;) {
    const postmaster = findPostmaster(cluster)
    if (postmaster !== undefined) process.kill(postmaster.pid, 'SIGKILL')
    const server = await listenOn(port)
    if (server !== null) return server
    await sleep(1)
  }
}

/** A service whose data folder has so long a path that its server listens on a port. */
async function serveOnPort(t: TestContext, env: Record<string, string>) {
  const folder = await temporaryFolder()
  const dataDir = join(folder.path, 'long-name-'.repeat(12))
  mkdirSync(dataDir)
  const cluster = join(dataDir, 'postgres')
  const service = startLatchkey(['serve'], {
    cwd: folder.path,
    env: { PORT: '0', DATA_DIR: dataDir, BCRYPT_COST: '4', ...UNTHROTTLED, ...env },
  })
  t.after(async () => {
    service.child.kill('SIGKILL')
    await service.ended
    await stopPostmaster(cluster)
    folder.remove()
  })
  const [, url = ''] = await service.until(/running at (\S+)/)
  const port = findPostmaster(cluster)?.port
  assert.ok(port, 'it listens on a port')
  return { service, url, cluster, port }
}

const isReady = async (url: string) => (await callAt(url, '/readyz', { method: 'GET' })).status === 200

describe('a service whose embedded PostgreSQL died, and whose port is taken', { skip: postgresAlone }, () => {
  test('serves again at the same port once that is free', async (t) => {
    const { service, url, cluster, port } = await serveOnPort(t, {})
    await until(() => isReady(url))
    const taker = await takePort(cluster, port)
    await service.until(/embedded_postgres\.restart_failed/)
    await new Promise((resolve) => taker.close(resolve))
    await service.until(/embedded_postgres\.restarted/)
    await until(() => isReady(url))
    assert.equal(findPostmaster(cluster)?.port, port)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
  })

  for (const workers of ['1', '2'])
    test(`ends with one clear line where it stays taken, so that a new start takes another, with WORKERS=${workers}`, async (t) => {
      const { service, url, cluster, port } = await serveOnPort(t, { WORKERS: workers })
      await until(() => isReady(url))
      const taker = await takePort(cluster, port)
      t.after(() => taker.close())
      const { code, stderr } = await service.ended
      assert.equal(code, 1)
      assert.match(
        stderr,
        new RegExp(`^latchkey: The embedded PostgreSQL in .* died, and port ${port} is taken\\.`, 'm'),
      )
      assert.equal(findPostmaster(cluster), undefined)
    })
})
