import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectionUrl } from './connection-url.ts'
import { AddressTaken, EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import { findPostmaster } from './postmaster.ts'
import { type Reached, reachServer } from './reach-server.ts'
import type { ServerPlan } from './server-plan.ts'
import type { ServerSession } from './session.ts'

/** Receives events of the server for the log; no field is a secret. */
export type OnEvent = (event: string, fields: Record<string, unknown>) => void

/** Restarts a server until it is ended. */
export interface Supervision {
  session(): ServerSession
  /** Rejects when the server could not be restarted at its address, the only one that its clients know. */
  readonly lost: Promise<never>
  /** Ends the supervision. Resolves when no restart is in progress. */
  end(): Promise<void>
}

const CHECK_EVERY_MS = 200
const RETRY_AFTER_MS = 1_000
/** How long restarts are retried while another program uses the server's port; it may release the port soon. */
const ADDRESS_TAKEN_MS = 15_000

/** Checks the server five times a second, restarts it when it died, and reopens the session when it was lost. */
export function supervise(plan: ServerPlan, first: Reached, onEvent: OnEvent): Supervision {
  const ended = new AbortController()
  const { address } = first
  const place = { port: address.host === '127.0.0.1' ? address.port : undefined }
  let { session } = first
  let lose = (_: Error) => {}
  const lost = new Promise<never>((_, reject) => {
    lose = reject
  })
  // A caller may ignore `lost`; the rejection must not be unhandled.
  lost.catch(() => {})

  async function restoreIfLost(): Promise<void> {
    const alive = findPostmaster(plan.folder.cluster) !== undefined
    if (alive && session.isOpen()) return
    if (!existsSync(plan.folder.cluster)) throw new Error(`the folder ${plan.folder.cluster} is gone`)
    const since = performance.now()
    if (!alive) onEvent('embedded_postgres.died', { dataDir: plan.folder.path })
    void session.end()
    const reached = await reachServer(plan, place, ended.signal)
    session = reached.session
    // A command may have started the server at another address.
    if (connectionUrl(reached.address) !== connectionUrl(address)) {
      await session.end()
      throw new AddressTaken('The server listens at another address.')
    }
    const fields = { dataDir: plan.folder.path, tookMs: Math.round(performance.now() - since) }
    onEvent(alive ? 'embedded_postgres.reconnected' : 'embedded_postgres.restarted', fields)
  }

  async function watch(): Promise<void> {
    let pauseMs = CHECK_EVERY_MS
    let takenSinceMs: number | null = null
    while (!ended.signal.aborted) {
      await sleep(pauseMs, undefined, { signal: ended.signal }).catch(() => {})
      if (ended.signal.aborted) return
      try {
        await restoreIfLost()
        pauseMs = CHECK_EVERY_MS
        takenSinceMs = null
      } catch (error) {
        if (ended.signal.aborted) return
        const { message: reason } = error as Error
        const isDown = error instanceof AddressTaken || isServerDown()
        onEvent(isDown ? 'embedded_postgres.restart_failed' : 'embedded_postgres.check_failed', {
          dataDir: plan.folder.path,
          reason,
        })
        pauseMs = RETRY_AFTER_MS
        if (!(error instanceof AddressTaken)) continue
        takenSinceMs ??= performance.now()
        if (performance.now() - takenSinceMs > ADDRESS_TAKEN_MS) return lose(addressLost())
      }
    }
  }

  /** False when only the check of a running server failed, such as its session. */
  function isServerDown(): boolean {
    try {
      return findPostmaster(plan.folder.cluster) === undefined
    } catch {
      return false
    }
  }

  function addressLost(): Error {
    const where = place.port === undefined ? 'its socket' : `port ${place.port}`
    return new EmbeddedPostgresRefused(
      `The embedded PostgreSQL in ${plan.folder.path} died, and ${where} is taken. Start the service again: it will use another port.`,
    )
  }

  const watching = watch()
  return {
    session: () => session,
    lost,
    async end() {
      ended.abort()
      await watching
    },
  }
}
