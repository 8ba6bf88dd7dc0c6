import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPostmaster } from './postmaster.ts'
import { type Reached, reachServer } from './reach-server.ts'
import type { ServerAddress, Session } from './session.ts'
import type { ServerPlan } from './start-server.ts'

/** Reports what happened to the server, for logs; no field is a secret. */
export type OnEvent = (event: string, fields: Record<string, unknown>) => void

/** Keeps a server alive until it is ended. */
export interface Supervision {
  address(): ServerAddress
  session(): Session
  /** Ends the watch; answers when no restart is under way any more. */
  end(): Promise<void>
}

const LOOK_EVERY_MS = 200
const RETRY_AFTER_MS = 1_000

/** Looks at the server five times a second, restarts it when it is dead, and renews the session when lost. */
export function supervise(plan: ServerPlan, first: Reached, onEvent: OnEvent): Supervision {
  const ended = new AbortController()
  let { address, session } = first
  let port = tcpPort(address)

  async function look(): Promise<void> {
    const alive = findPostmaster(plan.folder.cluster) !== undefined
    if (alive && session.isOpen()) return
    if (!existsSync(plan.folder.cluster)) throw new Error(`the folder ${plan.folder.cluster} is gone`)
    const since = performance.now()
    if (!alive) onEvent('embedded_postgres.died', { dataDir: plan.folder.path })
    void session.end()
    ;({ address, session } = await reachServer(plan, port, ended.signal))
    const moved = tcpPort(address) !== port
    port = tcpPort(address)
    const fields = { dataDir: plan.folder.path, tookMs: Math.round(performance.now() - since), moved }
    onEvent(alive ? 'embedded_postgres.reconnected' : 'embedded_postgres.restarted', fields)
  }

  async function watch(): Promise<void> {
    let pauseMs = LOOK_EVERY_MS
    while (!ended.signal.aborted) {
      await sleep(pauseMs, undefined, { signal: ended.signal }).catch(() => {})
      if (ended.signal.aborted) return
      try {
        await look()
        pauseMs = LOOK_EVERY_MS
      } catch (error) {
        if (ended.signal.aborted) return
        onEvent('embedded_postgres.restart_failed', { reason: (error as Error).message })
        pauseMs = RETRY_AFTER_MS
      }
    }
  }

  const watching = watch()
  return {
    address: () => address,
    session: () => session,
    async end() {
      ended.abort()
      await watching
    },
  }
}

function tcpPort({ host, port }: ServerAddress): number | undefined {
  return host === '127.0.0.1' ? port : undefined
}
