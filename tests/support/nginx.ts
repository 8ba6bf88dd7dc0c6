import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { type Balancer, DEPLOY, isInstalled, openBalancer } from './balancer.ts'

/** Whether nginx is installed. */
export function hasNginx(): boolean {
  return isInstalled('nginx', '-v')
}

/** Starts an nginx in front of up to four services. `idle` replaces its keep-alive timeout for connections to them. */
export async function openNginx(
  ports: readonly number[],
  { idle }: { readonly idle?: string } = {},
): Promise<Balancer> {
  const listen = await freePort()
  return openBalancer(listen, (folder) => {
    const settings = join(folder, 'nginx.conf')
    writeFileSync(settings, settingsFor(ports, listen, idle))
    const own = `daemon off; pid ${join(folder, 'pid')};`
    return spawn('nginx', ['-c', settings, '-g', own], { stdio: ['ignore', 'ignore', 'pipe'] })
  })
}

function settingsFor(ports: readonly number[], listen: number, idle: string | undefined): string {
  let text = readFileSync(join(DEPLOY, 'nginx.conf'), 'utf8').replace('127.0.0.1:8080', `127.0.0.1:${listen}`)
  for (const n of [1, 2, 3, 4]) {
    const port = ports[n - 1]
    if (port === undefined) text = text.replace(new RegExp(`^ *server 127.0.0.1:300${n} .*\n`, 'm'), '')
    else text = text.replace(`127.0.0.1:300${n}`, `127.0.0.1:${port}`)
  }
  return idle === undefined ? text : text.replace('keepalive_timeout 2s', `keepalive_timeout ${idle}`)
}
