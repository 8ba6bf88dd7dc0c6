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

/** Listens on a port of 127.0.0.1. Returns null if the port is taken. */
function listenOn(port: number): Promise<Server | null> {
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve) => {
    server.once('error', () => resolve(null))
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

/** Kills the PostgreSQL server of a data directory until this process holds its port. */
async function takePort(dataDirectory: string, port: number): Promise<Server> {
  for (;;) {
    const postmaster = findPostmaster(dataDirectory)
    if (postmaster !== undefined) process.kill(postmaster.pid, 'SIGKILL')
    const server = await listenOn(port)
    if (server !== null) return server
    await sleep(1)
  }
}

/** Starts a service whose data folder has too long a path for a Unix socket, so that PostgreSQL listens on a port. */
async function serveOnPort(t: TestContext, env: Record<string, string>) {
  const folder = await temporaryFolder()
  const dataDir = join(folder.path, 'long-name-'.repeat(12))
  mkdirSync(dataDir)
  const dataDirectory = join(dataDir, 'postgres')
  const service = startLatchkey(['serve'], {
    cwd: folder.path,
    env: { PORT: '0', DATA_DIR: dataDir, BCRYPT_COST: '4', ...UNTHROTTLED, ...env },
  })
  t.after(async () => {
    service.child.kill('SIGKILL')
    await service.ended
    await stopPostmaster(dataDirectory)
    folder.remove()
  })
  const [, url = ''] = await service.until(/running at (\S+)/)
  const port = findPostmaster(dataDirectory)?.port
  assert.ok(port, 'it listens on a port')
  return { service, url, dataDirectory, port }
}

const isReady = async (url: string) => (await callAt(url, '/readyz', { method: 'GET' })).status === 200

describe('a service whose embedded PostgreSQL died and lost its port', { skip: postgresAlone }, () => {
  test('restarts it on the same port once the port is free', async (t) => {
    const { service, url, dataDirectory, port } = await serveOnPort(t, {})
    await until(() => isReady(url))
    const taker = await takePort(dataDirectory, port)
    await service.until(/embedded_postgres\.restart_failed/)
    await new Promise((resolve) => taker.close(resolve))
    // With the folder, the reason and the duration.
    await service.until(
      /"detail":"Data folder [^"]+, The embedded [^"]+","event":"embedded_postgres\.restart_failed"/,
    )
    await service.until(/"detail":"Data folder [^"]+, after \d+ ms","event":"embedded_postgres\.restarted"/)
    await until(() => isReady(url))
    assert.equal(findPostmaster(dataDirectory)?.port, port)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
  })

  for (const workers of ['1', '2'])
    test(`exits with one line if the port stays taken, with WORKERS=${workers}`, async (t) => {
      const { service, url, dataDirectory, port } = await serveOnPort(t, { WORKERS: workers })
      await until(() => isReady(url))
      const taker = await takePort(dataDirectory, port)
      t.after(() => taker.close())
      const { code, stderr } = await service.ended
      assert.equal(code, 1)
      assert.match(
        stderr,
        new RegExp(`^latchkey: The embedded PostgreSQL in .* died, and port ${port} is taken\\.`, 'm'),
      )
      assert.equal(findPostmaster(dataDirectory), undefined)
    })
})
