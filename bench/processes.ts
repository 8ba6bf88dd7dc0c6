import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import type { Bench } from './part.ts'

const TICKS_PER_SECOND = 100
const hasTaskset = spawnSync('taskset', ['--version']).error === undefined

/** The processors of server and load: one each, if there are two. */
const PROCESSORS = availableParallelism() > 1 ? ({ server: '0', load: '1' } as const) : null

/** Returns a command that is pinned to the processor of the server or of the load, where the system can pin processes. */
export function pinned(to: 'server' | 'load' | null, command: readonly string[]): readonly string[] {
  return to === null || PROCESSORS === null || !hasTaskset
    ? command
    : ['taskset', '-c', PROCESSORS[to], ...command]
}

/** Whether processes can be pinned here. */
export const isPinned = hasTaskset && PROCESSORS !== null

/**
 * Returns the processor time of a process and its child processes, user and system, in seconds, from `/proc`; NaN on systems
 * without it.
 */
export function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    const own = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
    return children.filter(Boolean).reduce((sum, child) => sum + cpuSeconds(Number(child)), own)
  } catch {
    return Number.NaN
  }
}

/** Returns the resident memory of a process in bytes; NaN on systems without `/proc`. */
export function residentBytes(pid: number): number {
  try {
    const kibibytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return Number(kibibytes) * 1024
  } catch {
    return Number.NaN
  }
}

/** Runs a program to its end and returns its standard output. Throws when it fails. */
export async function output(
  { signal }: Pick<Bench, 'signal'>,
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const options = { env: { ...process.env, NODE_ENV: 'production', ...env }, signal, maxBuffer: 2 ** 26 }
  const { stdout } = await promisify(execFile)(program, args, options)
  return stdout
}
