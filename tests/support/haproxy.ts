import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'

/** A HAProxy of the test's own in front of several services. */
export interface HaProxy {
  readonly url: string
  close(): Promise<void>
}

const START_MS = 10_000

/** Whether the program is on this machine. */
export function hasHaProxy(): boolean {
  return spawnSync('haproxy', ['-v']).status === 0
}

/** Starts one that takes the services in turn, and leaves out those whose `/livez` does not answer. */
export async function openHaProxy(ports: readonly number[]): Promise<HaProxy> {
  const listen = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-haproxy-'))
  const settings = join(folder, 'haproxy.cfg')
  const servers = ports.map((port, i) => `  server s${i} 127.0.0.1:${port} check inter 100 fall 1 rise 1`)
  writeFileSync(
    settings,
    `defaults
  mode http
  timeout connect 1s
  timeout client 75s
  timeout server 20s
  option redispatch
  retries 3
listen services
  bind 127.0.0.1:${listen}
  balance roundrobin
  option httpchk GET /livez
  timeout check 500ms
${servers.join('\n')}
`,
  )
  const balancer = spawn('haproxy', ['-db', '-f', settings], { stdio: 'ignore' })
  await untilListening(listen)
  return {
    url: `http://127.0.0.1:${listen}`,
    async close() {
      balancer.kill('SIGTERM')
      if (balancer.exitCode === null) await new Promise((resolve) => balancer.once('exit', resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function untilListening(port: number): Promise<void> {
  for (const endMs = performance.now() + START_MS; ; await sleep(20)) {
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (isUp) return
    if (performance.now() > endMs) throw new Error('HAProxy does not listen.')
  }
}
