import { Pool, type PoolClient } from 'pg'
import type { PoolConnections } from '../../../application/ports/metrics.ts'
import { Unavailable } from '../../../domain/errors.ts'
import { type Health, sessionOn } from './client-session.ts'
import { DatabaseRefused, DatabaseUnreachable } from './database-refused.ts'
import { ImmediateCloseClient } from './immediate-close-client.ts'
import type { PoolOptions } from './pool-options.ts'
import type { Session } from './session.ts'
import { prepareSession } from './session-settings.ts'
import { judge } from './sql-state.ts'

/** Connections to one PostgreSQL database, at most `max`. */
export interface DatabasePool {
  /**
   * Runs `work` with a connection and returns its result. Queueing, connecting and querying together take at most
   * `timeoutMs` milliseconds. After that, or when the database cannot be reached, it rejects with `Unavailable`, and the
   * outcome of a change is unknown.
   */
  run<T>(timeoutMs: number, work: (session: Session) => Promise<T>): Promise<T>
  /** Returns the number of connections that are open or being opened. */
  size(): number
  /** Returns the number of connections in use and idle, their limit, and the number of requests that wait for one. */
  connections(): PoolConnections
  /** Closes the connections once the work that uses them is done. */
  close(): Promise<void>
}

const CONNECT_MS = 1000
const IDLE_MS = 60_000

/** Opens a pool. It connects on first use, and replaces lost connections. */
export function openPool({ url, max, prepared, onEvent }: PoolOptions): DatabasePool {
  const pool = new Pool({
    connectionString: url,
    max,
    Client: ImmediateCloseClient,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    application_name: 'latchkey',
  })
  // The pool reports errors of idle clients only, and an error without a listener ends the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    client.on('error', (error: Error) => onEvent({ kind: 'connection_lost', detail: error.message }))
  })

  // A refused write means that the primary has moved: every earlier connection belongs to the old one.
  let era = 0
  const clientEras = new WeakMap<PoolClient, number>()

  return {
    run,
    size: () => pool.totalCount,
    connections: () => ({
      used: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      max,
      pending: pool.waitingCount,
    }),
    close: () => pool.end(),
  }

  async function run<T>(timeoutMs: number, work: (session: Session) => Promise<T>): Promise<T> {
    let isTimedOut = false
    let drop = () => {}
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        isTimedOut = true
        drop()
        reject(
          new Unavailable({
            cause: new DatabaseUnreachable(`The database did not respond within ${timeoutMs} ms.`),
          }),
        )
      }, timeoutMs)
    })
    try {
      return await Promise.race([runOnClient(), timeout])
    } finally {
      clearTimeout(timer)
    }

    async function runOnClient(): Promise<T> {
      const client = await checkOut(() => isTimedOut)
      if (isTimedOut) {
        client.release()
        throw new Unavailable()
      }
      const health: Health = { isConnectionLost: false, sawReadOnly: false, sawDiskFull: false }
      drop = () => client.release(true)
      try {
        const session = sessionOn(client, prepared, health)
        if (!clientEras.has(client)) await setUp(client, session, health)
        return await work(session)
      } finally {
        if (health.sawReadOnly) beginNewEra()
        if (health.sawDiskFull)
          onEvent({ kind: 'disk_full', detail: 'The disk of the database server is full.' })
        if (!isTimedOut) client.release(health.isConnectionLost)
      }
    }
  }

  async function checkOut(isTimedOut: () => boolean): Promise<PoolClient> {
    for (;;) {
      const client = await pool.connect().catch((error: unknown) => {
        // The pool's queue times out after one second; a caller with a longer timeout queues again.
        if (isQueueTimeout(error) && !isTimedOut()) return null
        if (judge(error).isBug) throw error
        throw new Unavailable({ cause: error })
      })
      if (client === null) continue
      if ((clientEras.get(client) ?? era) === era) return client
      client.release(true)
    }
  }

  async function setUp(client: PoolClient, session: Session, health: Health): Promise<void> {
    const { isStandby } = await prepareSession(session).catch((error: unknown) => {
      health.isConnectionLost = true
      throw error instanceof DatabaseRefused ? new Unavailable({ cause: error }) : error
    })
    if (isStandby) {
      health.isConnectionLost = true
      onEvent({ kind: 'standby_refused', detail: 'The database is a standby, which may lag behind.' })
      throw new Unavailable({ cause: new DatabaseRefused('The database is a standby.') })
    }
    clientEras.set(client, era)
  }

  function beginNewEra(): void {
    era += 1
    onEvent({ kind: 'read_only', detail: 'The database is read-only; all connections are being replaced.' })
  }
}

function isQueueTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect'
}
