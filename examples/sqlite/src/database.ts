import { chmodSync, existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from 'latchkey/ports'
import Database from 'libsql'

/** What is bound to a statement. The driver ends the process at anything else. */
export type Value = string | number | Buffer | null
export type Row = Readonly<Record<string, unknown>>

/** Runs statements within one step. The driver is synchronous, so nothing in this process interrupts a step. */
export interface Session {
  rows(sql: string, values?: readonly Value[]): readonly Row[]
  /** Returns the number of changed rows. */
  change(sql: string, values?: readonly Value[]): number
}

/** An open file. Each step throws `Unavailable` when the file is still locked after `timeoutMs`. */
export interface SqliteDatabase {
  /** Runs a step of one statement, which sees everything that was committed before it began. */
  read<T>(timeoutMs: number, step: (session: Session) => T): Promise<T>
  /** Runs a step as one transaction, exclusive among all processes with the file. */
  write<T>(timeoutMs: number, step: (session: Session) => T): Promise<T>
  /** Runs several statements, within a write step. */
  script(sql: string): void
  close(): void
}

/** Opens or creates a file that only this account can read. */
export function openDatabase(file: string): SqliteDatabase {
  const isNew = !existsSync(file)
  const database = new Database(file)
  // Not by a file descriptor: closing it would release SQLite's locks in this process. The log gets the same mode.
  if (isNew) chmodSync(file, 0o600)
  const prepared = new Map<string, Database.Statement<[readonly Value[]]>>()
  const prepare = (sql: string) => {
    const statement = prepared.get(sql) ?? database.prepare<[readonly Value[]]>(sql)
    prepared.set(sql, statement)
    return statement
  }
  // One list: as separate arguments, the driver would treat a buffer or null as named parameters.
  const session: Session = {
    rows: (sql, values = []) => prepare(sql).all(values) as Row[],
    change: (sql, values = []) => prepare(sql).run(values).changes,
  }
  let isSetUp = false

  return {
    read: (timeoutMs, step) => withRetries(timeoutMs, () => step(session)),
    write: (timeoutMs, step) => withRetries(timeoutMs, () => inTransaction(() => step(session))),
    script: (sql) => void database.exec(sql),
    close: () => void database.close(),
  }

  /** Retries while another process has the lock. Waiting in the driver would block the event loop. */
  async function withRetries<T>(timeoutMs: number, step: () => T): Promise<T> {
    const endMs = performance.now() + timeoutMs
    for (;;) {
      try {
        setUp()
        return step()
      } catch (error) {
        const reason = primaryCode(error)
        if (UNAVAILABLE.has(reason)) throw new Unavailable({ cause: error })
        if (!LOCKED.has(reason)) throw error
        if (performance.now() >= endMs) throw new Unavailable({ cause: error })
      }
      await sleep(1 + Math.random() * 4)
    }
  }

  // Readers do not block the writer, and an acknowledged commit survives a loss of power.
  function setUp(): void {
    if (isSetUp) return
    database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on')
    isSetUp = true
  }

  function inTransaction<T>(step: () => T): T {
    database.exec('begin immediate')
    try {
      const result = step()
      database.exec('commit')
      return result
    } catch (error) {
      if (database.inTransaction) database.exec('rollback')
      throw error
    }
  }
}

/** SQLITE_BUSY, SQLITE_LOCKED and SQLITE_PROTOCOL (a race for the lock of the log). */
const LOCKED: ReadonlySet<number | null> = new Set([5, 6, 15])
/** SQLITE_IOERR, SQLITE_FULL and SQLITE_CANTOPEN. */
const UNAVAILABLE: ReadonlySet<number | null> = new Set([10, 13, 14])

/** Returns the primary result code of SQLite, or null for another error. */
export function primaryCode(error: unknown): number | null {
  const isOfSqlite = error instanceof Error && 'rawCode' in error && typeof error.rawCode === 'number'
  return isOfSqlite ? (error.rawCode as number) & 0xff : null
}
