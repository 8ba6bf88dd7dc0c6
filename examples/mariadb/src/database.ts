import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from 'latchkey/ports'
import { createPool } from 'mysql2'
import type { PoolConnection, ResultSetHeader, RowDataPacket } from 'mysql2/promise'

/** What is bound to a statement. */
export type Value = string | number | Buffer | null
export type Row = Readonly<Record<string, unknown>>

/** Runs statements on one connection. */
export interface Session {
  rows(sql: string, values?: readonly Value[]): Promise<readonly Row[]>
  /** Returns the number of rows that the statement matched, whether or not it changed them. */
  change(sql: string, values?: readonly Value[]): Promise<number>
}

/** A pool of connections. Each step throws `Unavailable` when it has not ended after `timeoutMs`. */
export interface MariadbDatabase {
  /** Runs a step of one statement, which sees everything that was committed before it began. */
  read<T>(timeoutMs: number, step: (session: Session) => Promise<T>): Promise<T>
  /** Runs a step as one transaction. After a deadlock it runs again. */
  write<T>(timeoutMs: number, step: (session: Session) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/**
 * Two seconds for a lock: a statement whose connection was closed at its timeout waits no longer. `write` repeats others.
 * At READ COMMITTED a statement that has waited for a row sees its new version, and gaps are not locked.
 */
const SET_UP = [
  'set session transaction isolation level read committed',
  "set innodb_lock_wait_timeout = 2, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
]
const CONNECTIONS = 10

/** Opens a pool on the database of an address like `mysql://user:password@host:3306/name`. */
export function openDatabase(uri: string): MariadbDatabase {
  const connections = createPool({ uri, charset: 'utf8mb4_bin', connectionLimit: CONNECTIONS })
  connections.on('connection', (connection) => {
    for (const sql of SET_UP) connection.query(sql, (error) => error && connection.destroy())
  })
  const pool = connections.promise()

  return {
    read: (timeoutMs, step) => inTime(timeoutMs, (connection) => step(sessionOn(connection))),
    write: (timeoutMs, step) =>
      inTime(timeoutMs, async (connection, isEnded) => {
        for (;;) {
          try {
            await connection.query('start transaction')
            const result = await step(sessionOn(connection))
            await connection.query('commit')
            return result
          } catch (error) {
            // A rollback that fails leaves the transaction to the server, and must not hide the first error.
            if (!isEnded()) await connection.query('rollback').catch(() => connection.destroy())
            if (!REPEATABLE.has(errorNumber(error)) || isEnded()) throw error
          }
          await sleep(Math.random() * 5)
        }
      }),
    close: () => pool.end(),
  }

  async function inTime<T>(
    timeoutMs: number,
    use: (connection: PoolConnection, isEnded: () => boolean) => Promise<T>,
  ): Promise<T> {
    const ended = new AbortController()
    const held: { connection?: PoolConnection } = {}
    const work = pool.getConnection().then((connection) => {
      if (ended.signal.aborted) {
        connection.release()
        throw LATE
      }
      held.connection = connection
      return use(connection, () => ended.signal.aborted)
    })
    const timeout = sleep(timeoutMs, null, { signal: ended.signal }).then(() => Promise.reject(LATE))
    try {
      const result = await Promise.race([work, timeout])
      held.connection?.release()
      return result
    } catch (error) {
      // After a timeout its statement still runs. The server rolls back its transaction when the connection is gone.
      if (error === LATE) held.connection?.destroy()
      else held.connection?.release()
      throw isUnavailable(error) ? new Unavailable({ cause: error }) : error
    } finally {
      ended.abort()
    }
  }
}

function sessionOn(connection: PoolConnection): Session {
  return {
    rows: async (sql, values = []) => (await connection.execute<RowDataPacket[]>(sql, [...values]))[0],
    change: async (sql, values = []) =>
      (await connection.execute<ResultSetHeader>(sql, [...values]))[0].affectedRows,
  }
}

const LATE = new Error('The database did not respond in time.')
/** A lock wait timeout and a deadlock: the transaction was not committed. */
const REPEATABLE: ReadonlySet<number | null> = new Set([1205, 1213])
/** Full disk or table, too many connections, shutdown, read-only, interrupted, connection killed. */
const CANNOT_SERVE: ReadonlySet<number | null> = new Set([
  1021, 1040, 1053, 1114, 1205, 1213, 1290, 1317, 1836, 1927,
])

/** Returns MariaDB's number of an error, or null for an error of the network or of this program. */
export function errorNumber(error: unknown): number | null {
  const isOfServer = error instanceof Error && 'sqlState' in error && 'errno' in error
  return isOfServer && typeof error.errno === 'number' ? error.errno : null
}

function isUnavailable(error: unknown): boolean {
  if (error === LATE || CANNOT_SERVE.has(errorNumber(error))) return true
  // The driver's errors of connections have a code.
  return errorNumber(error) === null && error instanceof Error && 'code' in error
}
