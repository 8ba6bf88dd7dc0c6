import { spawn } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, renameSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { cannotRun } from './binaries.ts'
import { isEarlySignal } from './early-signal.ts'
import { findPostmaster } from './postmaster.ts'
import { accountIdentity, SERVER_ENV, serverArguments } from './server-arguments.ts'
import type { ServerPlan } from './server-plan.ts'

/** The longest duration of a start, in milliseconds. */
export const START_TIMEOUT_MS = 60_000

/** Starts the server and waits until it is ready. Returns an empty text, or the reason of the failure. */
export async function launch(
  plan: ServerPlan,
  port: number | undefined,
  signal: AbortSignal,
): Promise<string> {
  const { folder, host, binaries } = plan
  const log = openLog(folder.log)
  const child = spawn(binaries.postgres, serverArguments(folder.cluster, plan.startedBy, port), {
    cwd: folder.cluster,
    env: SERVER_ENV,
    stdio: ['ignore', log, log],
    // A separate process session, so that Ctrl-C in the terminal reaches the service only.
    detached: true,
    ...accountIdentity(folder),
  })
  closeSync(log)
  child.unref()
  let ended = false
  let endedBy: NodeJS.Signals | null = null
  let failed: Error | undefined
  child.once('exit', (_, signal) => {
    ended = true
    endedBy = signal
  })
  child.once('error', (error) => {
    failed = cannotRun(host, binaries.postgres, error)
  })
  const deadline = performance.now() + START_TIMEOUT_MS
  let ready = false
  try {
    while (!ready && !ended && performance.now() < deadline) {
      await sleep(10, undefined, { signal })
      if (failed !== undefined) throw failed
      ready = findPostmaster(folder.cluster)?.status === 'ready'
    }
  } finally {
    if (!ready && !ended) child.kill('SIGQUIT')
  }
  if (ready) return ''
  if (isEarlySignal(endedBy)) return launch(plan, port, signal)
  return ended ? lastFailure(folder.log) : 'it is not ready after 60 s'
}

/** Each start begins a new log and keeps the previous one, so that there are never more than two. */
function openLog(path: string): number {
  try {
    renameSync(path, `${path}.1`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND, 0o600)
}

function lastFailure(log: string): string {
  const lines = readFileSync(log, 'utf8').split('\n')
  const line = lines.findLast((text) => /FATAL:|PANIC:/.test(text)) ?? lines.findLast((text) => text !== '')
  return line?.replace(/^.*(FATAL|PANIC):\s*/, '') ?? 'it ended without a message'
}
