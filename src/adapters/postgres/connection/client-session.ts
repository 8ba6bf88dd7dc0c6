import type { ClientBase } from 'pg'
import { Unavailable } from '../../../domain/errors.ts'
import { DatabaseRefused } from './database-refused.ts'
import type { Result, Row, Session } from './session.ts'
import { isDiskFull, isReadOnly, isUnreplicated, judge } from './sql-state.ts'

/** The state of a session's connection, for the pool. */
export interface Health {
  isConnectionLost: boolean
  sawReadOnly: boolean
  sawDiskFull: boolean
}

/** Creates a session on a connected client. Updates `health` after every query. */
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
        // When the rollback fails, the pool closes the connection, which rolls back.
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
    let isOnPrimaryOnly = false
    const onNotice = (notice: object) => {
      isOnPrimaryOnly ||= isUnreplicated(notice)
    }
    client.on('notice', onNotice)
    try {
      const { rows, rowCount } = await client.query<Row>(query)
      if (isOnPrimaryOnly) throw new DatabaseRefused('The wait for the synchronous standby was cancelled.')
      return { rows, count: rowCount ?? 0 }
    } catch (error) {
      const { isBug, isConnectionLost } = judge(error)
      health.isConnectionLost ||= isConnectionLost
      health.sawReadOnly ||= isReadOnly(error)
      health.sawDiskFull ||= isDiskFull(error)
      if (isBug) throw error
      throw new Unavailable({ cause: error })
    } finally {
      client.off('notice', onNotice)
    }
  }
}
