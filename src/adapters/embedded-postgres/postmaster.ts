import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isServerProcess, killOrphans, signalProcess, waitUntilGone } from './server-processes.ts'

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

/** Stops the server of a cluster within about two seconds: fast, then immediately, then by force. */
export async function stopPostmaster(cluster: string): Promise<void> {
  for (const [name, graceMs] of [
    ['SIGINT', 1_300],
    ['SIGQUIT', 500],
    ['SIGKILL', 200],
  ] as const) {
    const postmaster = findPostmaster(cluster)
    if (postmaster === undefined) break
    signalProcess(postmaster.pid, name)
    if (await waitUntilGone(cluster, postmaster.pid, graceMs)) break
  }
  if (findPostmaster(cluster) === undefined) await killOrphans(cluster)
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
