import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Unavailable } from 'latchkey/ports'
import type { RowDataPacket } from 'mysql2/promise'
import { openDatabase } from '../src/database.ts'
import { type MariadbServer, startMariadb, withoutMariadb } from './mariadb-server.ts'

/** It is long because tests run in parallel. */
const TIMEOUT_MS = 30_000

describe('A connection to MariaDB', { skip: withoutMariadb }, () => {
  let server: MariadbServer
  before(async () => {
    server = await startMariadb()
  })
  after(() => server?.stop())

  test('that is killed while a write waits for a lock rejects with `Unavailable`, and another replaces it', async (t) => {
    const database = openDatabase(await server.createDatabase('killed'))
    t.after(() => database.close())
    const { connection } = server
    await connection.query('create table killed.counters (id int primary key, count int not null)')
    await connection.query('insert into killed.counters values (1, 0)')
    const increment = () =>
      database.write(TIMEOUT_MS, ({ change }) => change('update counters set count = count + 1 where id = 1'))
    await connection.query('start transaction')
    await connection.query('select * from killed.counters for update')
    const refused = assert.rejects(increment(), Unavailable)
    await connection.query(`kill ${await waitingConnection('killed')}`)
    await refused
    await connection.query('rollback')
    assert.equal(await increment(), 1)
    const [rows] = await connection.query<RowDataPacket[]>('select count from killed.counters')
    assert.deepEqual(
      rows.map(({ count }) => count),
      [1],
    )
  })

  test('whose settings are refused is closed, so that no statement runs without them', async (t) => {
    const url = new URL(await server.createDatabase('limited'))
    await server.connection.query("create user limited identified by 'secret' with max_queries_per_hour 1")
    await server.connection.query('grant all on limited.* to limited')
    Object.assign(url, { username: 'limited', password: 'secret' })
    const database = openDatabase(url.href)
    t.after(() => database.close())
    await assert.rejects(
      database.read(TIMEOUT_MS, ({ rows }) => rows('select 1')),
      Unavailable,
    )
  })

  /** Returns the id of the connection whose statement waits in a database. */
  async function waitingConnection(database: string): Promise<number> {
    for (;;) {
      const [[waiting]] = await server.connection.query<RowDataPacket[]>(
        `select id from information_schema.processlist
          where db = ? and info like 'update%'`,
        [database],
      )
      if (waiting !== undefined) return waiting.id
    }
  }
})
