import { type ChildProcess, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A load balancer of one test, in front of several services. */
export interface Balancer {
  readonly url: string
  close(): Promise<void>
}

const START_MS = 10_000

/** The folder with the shipped balancer settings. */
export const DEPLOY = join(import.meta.dirname, '../../deploy')

/** Whether the program is installed. `flag` makes it print its version. */
export function isInstalled(program: string, flag: string): boolean {
  return spawnSync(program, [flag]).status === 0
}

/** Runs a balancer until it is closed. `start` spawns it with a temporary folder. */
export async function openBalancer(port: number, start: (folder: string) => ChildProcess): Promise<Balancer> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-balancer-'))
  const balancer = start(folder)
  let complaints = ''
  balancer.stderr?.setEncoding('utf8').on('data', (text) => {
    complaints = (complaints + text).slice(-2000)
  })
  const ended = new Promise((resolve) => balancer.once('close', resolve).once('error', resolve))
  const close = async () => {
    balancer.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  for (const endMs = performance.now() + START_MS; !(await listensAt(port)); await sleep(20)) {
    if (balancer.exitCode === null && performance.now() < endMs) continue
    await close()
    throw new Error(`The balancer does not listen: ${complaints}`)
  }
  return { url: `http://127.0.0.1:${port}`, close }
}

/** Whether a program listens on a port of this machine. */
export function listensAt(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
