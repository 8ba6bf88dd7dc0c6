import type { ClientBase } from 'pg'
import { Unavailable } from '../../domain/errors.ts'
import { isReadOnly, judge } from './sql-state.ts'

/** A query with the name under which the server keeps it prepared. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** A row as the driver reads it. */
export type Row = Readonly<Record<string, unknown>>

/** What a query gave: its rows, and how many rows it read or changed. */
export interface Result {
  readonly rows: readonly Row[]
  readonly count: number
}

/** One connection, lent for a unit of work. Its errors are `Unavailable`, or the driver's own for a bug. */
export interface Session {
  query(statement: Statement, values: readonly unknown[]): Promise<Result>
  /** Runs the work in one READ COMMITTED transaction; a lost reply to its commit is `Unavailable`: outcome unknown. */
  transaction<T>(work: () => Promise<T>): Promise<T>
}

/** What became of a session's connection, for whoever lent it. */
export interface Health {
  isConnectionLost: boolean
  sawReadOnly: boolean
}

/** Makes a session of a connected client; `health` is kept up to date. */
export function sessionOn(client: ClientBase, prepared: boolean, health: Health): Session {
  return {
    query: ({ name, text }, values) =>
      send(prepared ? { name, text, values: [...values] } : { text, values: [...values] }),

    async transaction(work) {
      await send({ text: 'begin isolation level read committed' })
      try {
        const result = await work()
        await send({ text: 'commit' })
        return result
      } catch (error) {
        // Whatever could not be rolled back goes with its connection.
        if (!health.isConnectionLost) {
          await send({ text: 'rollback' }).catch(() => {
            health.isConnectionLost = true
          })
        }
        throw error
      }
    },
  }

  async function send(query: { name?: string; text: string; values?: unknown[] }): Promise<Result> {
    try {
      const { rows, rowCount } = await client.query<Row>(query)
      return { rows, count: rowCount ?? 0 }
    } catch (error) {
      const { isBug, isConnectionLost } = judge(error)
      health.isConnectionLost ||= isConnectionLost
      health.sawReadOnly ||= isReadOnly(error)
      if (isBug) throw error
      throw new Unavailable({ cause: error })
    }
  }
}
