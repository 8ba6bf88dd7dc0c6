import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A running server as described by its `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number
  /** The TCP port on 127.0.0.1, or undefined when the server listens on a socket in its cluster's folder. */
  readonly port: number | undefined
  readonly status: 'starting' | 'ready' | 'stopping'
}

/** Returns the live server of a cluster; undefined when there is none, even if `postmaster.pid` exists. */
export function findPostmaster(cluster: string): Postmaster | undefined {
  const lines = pidFile(cluster)
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 0 || !isServerProcess(cluster, pid)) return undefined
  const status = lines[7]?.trim()
  return {
    pid,
    port: parsePort(lines),
    status: status === 'ready' || status === 'stopping' ? status : 'starting',
  }
}

/** Returns the TCP port of the last server that wrote `postmaster.pid`, alive or dead. */
export function lastPort(cluster: string): number | undefined {
  return parsePort(pidFile(cluster))
}

/** Kills the remaining backends of a dead server: they outlive a killed postmaster and hold its shared memory. */
export async function killOrphans(cluster: string): Promise<void> {
  const deadline = performance.now() + 2_000
  for (let pids = serverProcesses(cluster); pids.length > 0; pids = serverProcesses(cluster)) {
    for (const pid of pids) signal(pid, 'SIGKILL')
    if (performance.now() > deadline) return
    await sleep(10)
  }
}

/** Stops the server of a cluster within about two seconds: fast, then immediately, then by force. */
export async function stopPostmaster(cluster: string): Promise<void> {
  for (const [name, graceMs] of [
    ['SIGINT', 1_300],
    ['SIGQUIT', 500],
    ['SIGKILL', 200],
  ] as const) {
    const postmaster = findPostmaster(cluster)
    if (postmaster === undefined) break
    signal(postmaster.pid, name)
    if (await waitUntilGone(cluster, postmaster.pid, graceMs)) break
  }
  if (findPostmaster(cluster) === undefined) await killOrphans(cluster)
}

/** Returns true once the process `pid` no longer serves the cluster, or false after `timeoutMs`. */
export async function waitUntilGone(cluster: string, pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  while (isServerProcess(cluster, pid)) {
    if (performance.now() > deadline) return false
    await sleep(10)
  }
  return true
}

function pidFile(cluster: string): string[] {
  try {
    return readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function parsePort(lines: string[]): number | undefined {
  const listensOnTcp = (lines[5]?.trim() ?? '') !== ''
  return listensOnTcp ? Number(lines[3]) : undefined
}

/** A process id alone proves nothing, because the system may have reused it. */
function isServerProcess(cluster: string, pid: number): boolean {
  try {
    if (process.platform === 'linux') return worksIn(cluster, pid)
    if (process.platform === 'win32') return signal(pid, 0)
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).includes(cluster)
  } catch {
    return false
  }
}

/** All processes of a server have the cluster's folder as their working folder. */
function worksIn(cluster: string, pid: number): boolean {
  const here = statSync(cluster, { bigint: true })
  const there = statSync(`/proc/${pid}/cwd`, { bigint: true })
  if (here.dev !== there.dev || here.ino !== there.ino) return false
  return ['postgres\n', 'initdb\n'].includes(readFileSync(`/proc/${pid}/comm`, 'utf8'))
}

function serverProcesses(cluster: string): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && isServerProcess(cluster, pid))
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
