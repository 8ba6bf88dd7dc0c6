import { type ChildProcess, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A balancer of the test's own in front of several services. */
export interface Balancer {
  readonly url: string
  close(): Promise<void>
}

const START_MS = 10_000

/** The folder of the settings that are shipped. */
export const DEPLOY = join(import.meta.dirname, '../../deploy')

/** Whether the program is on this machine; `flag` is what it tells its version by. */
export function isInstalled(program: string, flag: string): boolean {
  return spawnSync(program, [flag]).status === 0
}

/** Runs a balancer, which `start` starts with a folder of its own, until it is closed. */
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

/** Whether somebody takes connections at a port of this machine. */
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
