import { Pool, type PoolClient } from 'pg'
import { Unavailable } from '../../../domain/errors.ts'
import { type Health, sessionOn } from './client-session.ts'
import { DatabaseRefused, DatabaseUnreachable } from './database-refused.ts'
import { driverUrl } from './driver-url.ts'
import { ImmediateCloseClient } from './immediate-close-client.ts'
import type { Session } from './session.ts'
import { judge } from './sql-state.ts'

/** Something that an operator may want to read in the log. */
export interface DatabaseEvent {
  readonly kind: 'connection_lost' | 'standby_refused' | 'read_only' | 'disk_full'
  readonly detail: string
}

/** How to open a pool; `prepared: false` is for poolers that break prepared statements. */
export interface PoolOptions {
  readonly url: string
  readonly max: number
  readonly prepared: boolean
  readonly onEvent: (event: DatabaseEvent) => void
}

/** Connections to one PostgreSQL database, at most `max`. */
export interface DatabasePool {
  /**
   * Lends a connection for a unit of work. Queueing, connecting and querying together take at most `waitMs`; past
   * them, or when the database is out of reach, it throws `Unavailable`, and a change's outcome is unknown.
   */
  run<T>(timeoutMs: number, work: (session: Session) => Promise<T>): Promise<T>
  /** Connections open or being opened. */
  size(): number
  /** The connections now, and the requests that wait for one. */
  connections(): {
    readonly used: number
    readonly idle: number
    readonly max: number
    readonly pending: number
  }
  /** Closes the connections once the work that holds them is done. */
  close(): Promise<void>
}

const CONNECT_MS = 1000
const IDLE_MS = 60_000

// The server gives up a little before the caller does, which saves the connection. A pooler refuses these settings
// at start-up, and in transaction mode loses them later: the caller's own clock is what bounds a wait. The value of
// synchronous_commit is pinned, so that nobody can turn it off for connections that are open: with it off, a crash
// would lose acknowledged revocations.
const SET_UP = {
  name: 'set_up_session',
  text: `
    select set_config('statement_timeout', '900ms', false),
           set_config('lock_timeout', '800ms', false),
           set_config('idle_in_transaction_session_timeout', '2s', false),
           set_config('datestyle', 'ISO', false),
           set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), false),
           pg_is_in_recovery() as is_standby`,
}

/** Opens a pool; it connects when it is first used, and survives every loss of a connection. */
export function openPool({ url, max, prepared, onEvent }: PoolOptions): DatabasePool {
  const pool = new Pool({
    connectionString: driverUrl(url),
    max,
    Client: ImmediateCloseClient,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    application_name: 'latchkey',
  })
  // The pool hears of idle clients only, and a client's error without a listener ends the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    client.on('error', (error: Error) => onEvent({ kind: 'connection_lost', detail: error.message }))
  })

  // One refused write tells that the primary has moved: every connection made before is of the old one.
  let era = 0
  const eraOf = new WeakMap<PoolClient, number>()

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
    let isOver = false
    let drop = () => {}
    let timer: NodeJS.Timeout | undefined
    const timeUp = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        isOver = true
        drop()
        reject(
          new Unavailable({
            cause: new DatabaseUnreachable(`The database did not respond within ${timeoutMs} ms.`),
          }),
        )
      }, timeoutMs)
    })
    try {
      return await Promise.race([lend(), timeUp])
    } finally {
      clearTimeout(timer)
    }

    async function lend(): Promise<T> {
      const client = await checkOut(() => isOver)
      if (isOver) {
        client.release()
        throw new Unavailable()
      }
      const health: Health = { isConnectionLost: false, sawReadOnly: false, sawDiskFull: false }
      drop = () => client.release(true)
      try {
        const session = sessionOn(client, prepared, health)
        if (!eraOf.has(client)) await setUp(client, session, health)
        return await work(session)
      } finally {
        if (health.sawReadOnly) beginNewEra()
        if (health.sawDiskFull)
          onEvent({ kind: 'disk_full', detail: 'The database has no room on its disk.' })
        if (!isOver) client.release(health.isConnectionLost)
      }
    }
  }

  async function checkOut(isOver: () => boolean): Promise<PoolClient> {
    for (;;) {
      const client = await pool.connect().catch((error: unknown) => {
        // The queue forgets after a second whoever waits in it; a caller with more patience gets in line again.
        if (isQueueTimeout(error) && !isOver()) return null
        if (judge(error).isBug) throw error
        throw new Unavailable({ cause: error })
      })
      if (client === null) continue
      if ((eraOf.get(client) ?? era) === era) return client
      client.release(true)
    }
  }

  async function setUp(client: PoolClient, session: Session, health: Health): Promise<void> {
    const { rows } = await session.query(SET_UP, [])
    if (rows[0]?.is_standby !== false) {
      health.isConnectionLost = true
      onEvent({ kind: 'standby_refused', detail: 'The database is a standby, which may lag behind.' })
      throw new Unavailable({ cause: new DatabaseRefused('The database is a standby.') })
    }
    eraOf.set(client, era)
  }

  function beginNewEra(): void {
    era += 1
    onEvent({ kind: 'read_only', detail: 'The database refuses to write; all its connections are replaced.' })
  }
}

function isQueueTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect'
}
