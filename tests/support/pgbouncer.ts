import { spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { START_WAIT_MS, waitForQuery } from './test-server.ts'

/** A PgBouncer of one test, in front of a server. */
export interface PgBouncer {
  /** The server's URL with the pooler's address. */
  readonly url: string
  close(): Promise<void>
}

/** Whether PgBouncer is installed. */
export function hasPgBouncer(): boolean {
  return spawnSync('pgbouncer', ['--version']).status === 0
}

/** Whether the installed PgBouncer keeps prepared statements in transaction mode, as it does from 1.22 on. */
export function keepsPreparedStatements(): boolean {
  const { stdout } = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' })
  return Number(/PgBouncer 1\.(\d+)/.exec(stdout ?? '')?.[1] ?? 0) >= 22
}

const ANONYMOUS = 65534

/** Starts a PgBouncer in transaction mode, in front of the database of a URL, to which it opens `sessions` connections. */
export async function openPgBouncer(databaseUrl: string, { sessions = 20 } = {}): Promise<PgBouncer> {
  const { host, port, user, password, database } = new Client({ connectionString: databaseUrl })
  // PgBouncer refuses to run as root. A socket in a private folder is open to the folder's owner only.
  const uid = process.getuid?.() === 0 ? (host.startsWith('/') ? statSync(host).uid : ANONYMOUS) : undefined
  const listen = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-pgbouncer-'))
  const settings = join(folder, 'pgbouncer.ini')
  const secret = password ? ` password='${password}'` : ''
  writeFileSync(
    settings,
    `[databases]
${database} = host=${host} port=${port} user='${user}'${secret}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${sessions}
ignore_startup_parameters = extra_float_digits
`,
  )
  if (uid !== undefined) for (const path of [folder, settings]) chownSync(path, uid, -1)
  const bouncer = spawn('pgbouncer', [settings], { stdio: 'ignore', ...(uid === undefined ? {} : { uid }) })
  const url = `postgres://${user}@127.0.0.1:${listen}/${database}`
  await waitForQuery(url, START_WAIT_MS)
  return {
    url,
    async close() {
      bouncer.kill('SIGQUIT')
      if (bouncer.exitCode === null) await new Promise((resolve) => bouncer.once('exit', resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
