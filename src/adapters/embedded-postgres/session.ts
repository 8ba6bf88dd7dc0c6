import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { connectionUrl, type ServerAddress } from './connection-url.ts'

/** A connection that is open while the server is used. It shows other processes that the server is in use. */
export interface ServerSession {
  isOpen(): boolean
  /** Returns whether a command, not a service, started the server. */
  startedByCommand(): Promise<boolean>
  /** Counts the other connections: sessions like this one, and clients of other kinds. */
  others(): Promise<{ sessions: number; clients: number }>
  /** Ends the connection. Resolves when the server has closed it, or after 300 ms. */
  end(): Promise<void>
}

/** Opens a session on the database `latchkey`, and creates the database if the cluster is new. */
export async function openSession(address: ServerAddress): Promise<ServerSession> {
  try {
    return await connect(address, 'latchkey')
  } catch (error) {
    if ((error as { code?: string }).code !== INVALID_CATALOG_NAME) throw error
    await nameDatabase(address)
    return connect(address, 'latchkey')
  }
}

const INVALID_CATALOG_NAME = '3D000'
const SESSION_NAME = 'latchkey embedded-postgres'

/** Renames the database that initdb created, which takes a fraction of the time of creating another. */
async function nameDatabase(address: ServerAddress): Promise<void> {
  const { client, socket } = createClient(address, 'template1')
  try {
    await client.connect()
    await client.query('alter database postgres rename to latchkey')
  } finally {
    socket.destroy()
  }
}

async function connect(address: ServerAddress, database: string): Promise<ServerSession> {
  const { client, socket } = createClient(address, database)
  try {
    await client.connect()
  } catch (error) {
    socket.destroy()
    throw error
  }
  return {
    isOpen: () => !socket.destroyed && socket.readyState === 'open',
    async startedByCommand() {
      const { rows } = await client.query(`select current_setting('latchkey.started_by', true) as role`)
      return rows[0]?.role === 'command'
    },
    async others() {
      const { rows } = await client.query(
        `select count(*) filter (where application_name = $1)::int as sessions,
                count(*) filter (where application_name <> $1)::int as clients
         from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
        [SESSION_NAME],
      )
      return { sessions: rows[0]?.sessions ?? 0, clients: rows[0]?.clients ?? 0 }
    },
    async end() {
      if (socket.closed) return
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      void client.end().catch(() => {})
      await Promise.race([closed, sleep(300, undefined, { ref: false })])
      socket.destroy()
    },
  }
}

function createClient(address: ServerAddress, database: string): { client: pg.Client; socket: Socket } {
  const socket = new Socket()
  const client = new pg.Client({
    connectionString: connectionUrl(address, database),
    application_name: SESSION_NAME,
    connectionTimeoutMillis: 3_000,
    query_timeout: 3_000,
    stream: () => socket,
  })
  // A lost connection is no failure here: the session's holder checks isOpen().
  client.on('error', () => {})
  return { client, socket }
}
