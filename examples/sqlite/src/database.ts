import { chmodSync, existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from 'latchkey/ports'
import Database from 'libsql'

/** What is bound to a statement. The driver ends the process at anything else. */
export type Value = string | number | Buffer | null
export type Row = Readonly<Record<string, unknown>>

/** The statements of one step, which nothing of this process comes between: the driver answers at once. */
export interface Session {
  rows(sql: string, values?: readonly Value[]): readonly Row[]
  /** Answers how many rows it changed. */
  change(sql: string, values?: readonly Value[]): number
}

/** An open file. Each step throws `Unavailable` when the file is still locked after `timeoutMs`. */
export interface SqliteDatabase {
  /** Of one statement, and of what was committed before it began. */
  read<T>(timeoutMs: number, step: (session: Session) => T): Promise<T>
  /** As one transaction, alone among all processes that have the file. */
  write<T>(timeoutMs: number, step: (session: Session) => T): Promise<T>
  /** Runs a text of several statements, within a step that writes. */
  script(sql: string): void
  close(): void
}

/** Opens a file, which it makes where there is none; only this account may read it. */
export function openDatabase(file: string): SqliteDatabase {
  const isNew = !existsSync(file)
  const database = new Database(file)
  // Never by opening it: to close it again would take SQLite's own locks from this process. The log takes the same mode.
  if (isNew) chmodSync(file, 0o600)
  const prepared = new Map<string, Database.Statement<[readonly Value[]]>>()
  const statementOf = (sql: string) => {
    const statement = prepared.get(sql) ?? database.prepare<[readonly Value[]]>(sql)
    prepared.set(sql, statement)
    return statement
  }
  // Values go as one list: by themselves the driver takes a buffer or null for names.
  const session: Session = {
    rows: (sql, values = []) => statementOf(sql).all(values) as Row[],
    change: (sql, values = []) => statementOf(sql).run(values).changes,
  }
  let isSetUp = false

  return {
    read: (timeoutMs, step) => patiently(timeoutMs, () => step(session)),
    write: (timeoutMs, step) => patiently(timeoutMs, () => inTransaction(() => step(session))),
    script: (sql) => void database.exec(sql),
    close: () => void database.close(),
  }

  /** Others hold the file for moments. To wait for them in the driver would keep this process from everything else. */
  async function patiently<T>(timeoutMs: number, step: () => T): Promise<T> {
    const endMs = performance.now() + timeoutMs
    for (;;) {
      try {
        setUp()
        return step()
      } catch (error) {
        const reason = primaryCode(error)
        if (OUT_OF_REACH.has(reason)) throw new Unavailable({ cause: error })
        if (!HELD.has(reason)) throw error
        if (performance.now() >= endMs) throw new Unavailable({ cause: error })
      }
      await sleep(1 + Math.random() * 4)
    }
  }

  // Readers and a writer beside each other; what is acknowledged survives a loss of power.
  function setUp(): void {
    if (isSetUp) return
    database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on')
    isSetUp = true
  }

  function inTransaction<T>(step: () => T): T {
    database.exec('begin immediate')
    try {
      const answer = step()
      database.exec('commit')
      return answer
    } catch (error) {
      if (database.inTransaction) database.exec('rollback')
      throw error
    }
  }
}

/** Busy, locked, and what a race for the lock of the log is called. */
const HELD: ReadonlySet<number | null> = new Set([5, 6, 15])
/** The disk fails, is full, or does not give the file. */
const OUT_OF_REACH: ReadonlySet<number | null> = new Set([10, 13, 14])

/** The result code of SQLite without what it says beside it, or null for another error. */
export function primaryCode(error: unknown): number | null {
  const isOfSqlite = error instanceof Error && 'rawCode' in error && typeof error.rawCode === 'number'
  return isOfSqlite ? (error.rawCode as number) & 0xff : null
}
