import { Socket } from 'node:net'
import pg from 'pg'

/** Where and how to connect to the embedded server. */
export interface ServerAddress {
  /** A folder that holds the server's socket, or 127.0.0.1. */
  readonly host: string
  readonly port: number
  readonly password: string
}

/** One connection held for as long as the server is used: others see by it that they are not alone. */
export interface Session {
  isOpen(): boolean
  /** Whether a command, not a service, started the server. */
  startedByCommand(): Promise<boolean>
  /** Connections of clients other than this one. */
  otherClients(): Promise<number>
  /** Ends the connection at once, without waiting for the server. */
  end(): void
}

/** Opens a session on the database `latchkey`, which is made when the cluster is new. */
export async function openSession(address: ServerAddress): Promise<Session> {
  try {
    return await connect(address, 'latchkey')
  } catch (error) {
    if ((error as { code?: string }).code !== INVALID_CATALOG_NAME) throw error
    await nameDatabase(address)
    return connect(address, 'latchkey')
  }
}

/** The URL that clients connect with; it holds the password. */
export function urlOf({ host, port, password }: ServerAddress): string {
  if (!host.includes('/')) return `postgresql://latchkey:${password}@${host}:${port}/latchkey`
  return `postgresql://latchkey:${password}@localhost:${port}/latchkey?host=${encodeURIComponent(host)}`
}

const INVALID_CATALOG_NAME = '3D000'

/** initdb made a database already; to rename it takes a fraction of the time of making another. */
async function nameDatabase(address: ServerAddress): Promise<void> {
  const { client, socket } = clientOf(address, 'template1')
  try {
    await client.connect()
    await client.query('alter database postgres rename to latchkey')
  } finally {
    socket.destroy()
  }
}

async function connect(address: ServerAddress, database: string): Promise<Session> {
  const { client, socket } = clientOf(address, database)
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
    async otherClients() {
      const { rows } = await client.query(
        `select count(*)::int as others from pg_stat_activity
         where backend_type = 'client backend' and pid <> pg_backend_pid()`,
      )
      return rows[0]?.others ?? 0
    },
    end() {
      void client.end().catch(() => {})
      socket.destroySoon()
    },
  }
}

function clientOf(address: ServerAddress, database: string): { client: pg.Client; socket: Socket } {
  const socket = new Socket()
  const client = new pg.Client({
    ...address,
    user: 'latchkey',
    database,
    application_name: 'latchkey embedded-postgres',
    connectionTimeoutMillis: 3_000,
    query_timeout: 3_000,
    stream: () => socket,
  })
  // The end of the connection is no failure here: whoever holds the session looks at isOpen().
  client.on('error', () => {})
  return { client, socket }
}
