import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { type Balancer, DEPLOY, isInstalled, openBalancer } from './balancer.ts'

/** A gateway with the settings of `deploy/gateways`. */
export interface Gateway {
  readonly name: string
  readonly isInstalled: boolean
  /** Starts it in front of an application, with Latchkey at another port. */
  open(latchkey: number, application: number): Promise<Balancer>
}

const FOLDER = join(DEPLOY, 'gateways')

const nginx: Gateway = {
  name: 'nginx',
  isInstalled: isInstalled('nginx', '-v'),
  async open(latchkey, application) {
    const listen = await freePort()
    return openBalancer(listen, (folder) => {
      const settings = join(folder, 'nginx.conf')
      const text = readFileSync(join(FOLDER, 'nginx.conf'), 'utf8')
        .replace('127.0.0.1:8080', `127.0.0.1:${listen}`)
        .replace('127.0.0.1:3000', `127.0.0.1:${latchkey}`)
        .replace('127.0.0.1:8000', `127.0.0.1:${application}`)
      writeFileSync(settings, text)
      const own = `daemon off; pid ${join(folder, 'pid')};`
      return spawn('nginx', ['-c', settings, '-g', own], { stdio: ['ignore', 'ignore', 'pipe'] })
    })
  },
}

const caddy: Gateway = {
  name: 'Caddy',
  isInstalled: isInstalled('caddy', 'version'),
  async open(latchkey, application) {
    const listen = await freePort()
    return openBalancer(listen, (folder) =>
      spawn('caddy', ['run', '--config', join(FOLDER, 'Caddyfile'), '--adapter', 'caddyfile'], {
        env: { ...addresses(listen, latchkey, application), HOME: folder, XDG_DATA_HOME: folder },
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    )
  },
}

const haproxy: Gateway = {
  name: 'HAProxy',
  isInstalled: isInstalled('haproxy', '-v'),
  async open(latchkey, application) {
    const listen = await freePort()
    return openBalancer(listen, () =>
      spawn('haproxy', ['-db', '-f', join(FOLDER, 'haproxy.cfg')], {
        env: {
          ...addresses(listen, latchkey, application),
          LATCHKEY_LUA: join(FOLDER, 'latchkey.lua'),
        },
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    )
  },
}

/** Every gateway that is tested. */
export const GATEWAYS: readonly Gateway[] = [nginx, caddy, haproxy]

function addresses(listen: number, latchkey: number, application: number) {
  return {
    ...process.env,
    LISTEN: `127.0.0.1:${listen}`,
    LATCHKEY: `127.0.0.1:${latchkey}`,
    APPLICATION: `127.0.0.1:${application}`,
  }
}
