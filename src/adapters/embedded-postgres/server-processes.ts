import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Kills the remaining backends of a dead server: they outlive a killed postmaster and hold its shared memory. */
export async function killOrphans(cluster: string): Promise<void> {
  const deadline = performance.now() + 2_000
  for (let pids = serverProcesses(cluster); pids.length > 0; pids = serverProcesses(cluster)) {
    for (const pid of pids) signalProcess(pid, 'SIGKILL')
    if (performance.now() > deadline) return
    await sleep(10)
  }
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

/** Whether the process serves the cluster. A process id alone proves nothing, because the system may have reused it. */
export function isServerProcess(cluster: string, pid: number): boolean {
  try {
    if (process.platform === 'linux') return worksIn(cluster, pid)
    if (process.platform === 'win32') return signalProcess(pid, 0)
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

/** Sends the signal; returns false when there is no such process. */
export function signalProcess(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
