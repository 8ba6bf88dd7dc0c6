import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Why the tests that need Redis are skipped, or false. */
export const withoutRedis =
  spawnSync('redis-server', ['--version']).status !== 0 && 'redis-server is not installed'

/** A Redis server of a test. */
export interface RedisServer {
  readonly url: string
  /** Makes the server stop responding until it is released. */
  stall(): Promise<() => Promise<void>>
  stop(): Promise<void>
}

/** Starts an empty server on a free port, with its files in a new folder. */
export async function startRedis(): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-redis-'))
  const port = await freePort()
  const settings = { port, bind: '127.0.0.1', dir: folder, save: '', 'maxmemory-policy': 'noeviction' }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`])
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  for await (const text of child.stdout) if (`${text}`.includes('Ready to accept connections')) break
  return {
    url: `redis://127.0.0.1:${port}`,
    async stall() {
      child.kill('SIGSTOP')
      return async () => void child.kill('SIGCONT')
    },
    async stop() {
      child.kill('SIGKILL')
      await exit
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
