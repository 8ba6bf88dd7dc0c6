import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { type Balancer, DEPLOY, isInstalled, openBalancer } from './balancer.ts'

/** A HAProxy of one test, with the settings of `deploy`. */
export interface HaProxy extends Balancer {
  /** The statistics of each service, by their names: `wretr`, `wredis`, `econ`, … */
  counts(): Promise<readonly Readonly<Record<string, string>>[]>
}

/** Whether HAProxy is installed. */
export function hasHaProxy(): boolean {
  return isInstalled('haproxy', '-v')
}

/** Starts a HAProxy in front of up to four services. `checks` replaces the health check settings. */
export async function openHaProxy(
  ports: readonly number[],
  { listen, checks }: { readonly listen?: number; readonly checks?: string } = {},
): Promise<HaProxy> {
  const port = listen ?? (await freePort())
  let statistics = ''
  const balancer = await openBalancer(port, (folder) => {
    const settings = join(folder, 'haproxy.cfg')
    const more = join(folder, 'statistics.cfg')
    statistics = join(folder, 'statistics')
    writeFileSync(settings, settingsFor(ports.length, checks))
    writeFileSync(more, `global\n  stats socket ${statistics}\n`)
    const env = {
      ...process.env,
      LISTEN: `127.0.0.1:${port}`,
      ...Object.fromEntries(ports.map((at, i) => [`LATCHKEY${i + 1}`, `127.0.0.1:${at}`])),
    }
    return spawn('haproxy', ['-db', '-f', settings, '-f', more], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  })
  return { ...balancer, counts: () => readCounts(statistics) }
}

function settingsFor(services: number, checks: string | undefined): string {
  const lines = readFileSync(join(DEPLOY, 'haproxy.cfg'), 'utf8').split('\n')
  const known = lines.filter((line) => {
    const [, n] = /^ {2}server latchkey(\d) /.exec(line) ?? []
    return n === undefined || Number(n) <= services
  })
  const text = known.join('\n')
  return checks === undefined ? text : text.replace(/default-server .*/, `default-server ${checks}`)
}

async function readCounts(path: string): Promise<readonly Record<string, string>[]> {
  const socket = connect(path)
  socket.end('show stat\n')
  let text = ''
  for await (const part of socket) text += part
  const [head = '', ...rows] = text.trim().split('\n')
  const names = head.replace(/^# /, '').split(',')
  return rows
    .map((row) => Object.fromEntries(row.split(',').map((value, i) => [names[i], value])))
    .filter(({ svname }) => svname?.startsWith('latchkey'))
}
