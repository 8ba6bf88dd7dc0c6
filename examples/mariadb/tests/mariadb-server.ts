import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Connection, createConnection } from 'mysql2/promise'

/** Why the tests that need MariaDB are skipped, or false. */
export const withoutMariadb =
  spawnSync('mariadbd', ['--version']).status !== 0 && 'mariadb-server is not installed'

/** A MariaDB server of a test. */
export interface MariadbServer {
  /** A connection for changes that the adapters do not make. */
  readonly connection: Connection
  /** Creates a database; returns its address. */
  createDatabase(name: string): Promise<string>
  /** Makes the server stop responding until it is released. */
  stall(): Promise<() => Promise<void>>
  /** Locks the row of a token of a database until it is released. */
  lockToken(database: string, id: string): Promise<() => Promise<void>>
  stop(): Promise<void>
}

/** Starts an empty server on a free port, with its files in a new folder. A superuser starts it as the user `mysql`. */
export async function startMariadb(): Promise<MariadbServer> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-mariadb-'))
  const isRoot = process.getuid?.() === 0
  if (isRoot) run('chown', ['mysql', folder])
  const data = ['--no-defaults', `--datadir=${join(folder, 'data')}`, ...(isRoot ? ['--user=mysql'] : [])]
  run('mariadb-install-db', [...data, '--auth-root-authentication-method=normal', '--skip-test-db'])
  const port = await freePort()
  const files = [`--socket=${join(folder, 'socket')}`, `--pid-file=${join(folder, 'pid')}`]
  const address = [`--port=${port}`, '--bind-address=127.0.0.1']
  const child = spawn('mariadbd', [...data, ...files, ...address], { stdio: ['ignore', 'ignore', 'pipe'] })
  const exit = once(child, 'exit')
  await new Promise<void>((resolve, reject) => {
    let log = ''
    child.stderr.on('data', (text) => {
      log += text
      if (log.includes('ready for connections')) resolve()
    })
    exit.then(() => reject(new Error(log)), reject)
  })
  const server = `mysql://root@127.0.0.1:${port}`
  const connection = await createConnection(`${server}/mysql`)
  return {
    connection,
    async createDatabase(name) {
      await connection.query(`create database ${name}`)
      return `${server}/${name}`
    },
    async stall() {
      child.kill('SIGSTOP')
      return async () => void child.kill('SIGCONT')
    },
    async lockToken(database, id) {
      const holder = await createConnection(`${server}/${database}`)
      await holder.query('start transaction')
      await holder.query('select id from login_tokens where id = ? for update', [id])
      return () => holder.end()
    },
    async stop() {
      connection.destroy()
      child.kill('SIGKILL')
      await exit
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function run(program: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program}: ${stdout}${stderr}`)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
