import { setTimeout as sleep } from 'node:timers/promises'
import { connectionUrl } from './connection-url.ts'
import type { DataFolder } from './data-folder.ts'
import { findPostmaster, stopPostmaster } from './postmaster.ts'
import { tryLock, waitForLock } from './process-lock.ts'
import type { Reached } from './reach-server.ts'
import type { OpenServer, ServerPlan } from './server-plan.ts'
import { openSession, type ServerSession } from './session.ts'

/** Opens the server for a command, which shares it. The last command stops a server that a command has started. */
export function openForCommand({ folder }: ServerPlan, { address, session }: Reached): OpenServer {
  return {
    url: connectionUrl(address),
    lost: new Promise<never>(() => {}),
    async close() {
      const lock = await waitForLock(folder.path, 'start', folder.password, 500)
      try {
        // The holder of the lock is opening the server and stops it when it closes.
        if (lock === undefined || findPostmaster(folder.cluster) === undefined) return
        const current = session.isOpen() ? session : await openSession(address)
        const last = await isLastOfCommands(current, folder)
        // Ended under the lock, so that the next process to close does not count this session.
        await current.end()
        if (last) await stopPostmaster(folder.cluster)
      } catch {
        // A server that does not respond is left to the service, or to the next start.
      } finally {
        await session.end()
        await lock?.release()
      }
    },
  }
}

/**
 * Returns whether no other process needs the server. The server of a killed service counts as one of a command. Another
 * session stops the server when it closes. A client without a
 * session may have just disconnected, and is listed for some more milliseconds.
 */
async function isLastOfCommands(session: ServerSession, folder: DataFolder): Promise<boolean> {
  if (!(await session.startedByCommand()) && (await isServiceRunning(folder))) return false
  for (let attempt = 0; attempt < 15; attempt += 1) {
    const { sessions, clients } = await session.others()
    if (sessions > 0) return false
    if (clients === 0) return true
    await sleep(20)
  }
  return false
}

async function isServiceRunning(folder: DataFolder): Promise<boolean> {
  const lock = await tryLock(folder.path, 'service', folder.password)
  await lock?.release()
  return lock === undefined
}
