import { spawn } from 'node:child_process'
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { prepareBinaries } from '../src/adapters/embedded-postgres/binaries.ts'
import { prepareDataFolder } from '../src/adapters/embedded-postgres/data-folder.ts'
import { stateFolder } from '../src/adapters/embedded-postgres/host.ts'
import { freePort } from '../src/adapters/embedded-postgres/server-address.ts'
import { accountIdentity, SERVER_ENV } from '../src/adapters/embedded-postgres/server-arguments.ts'
import { killOrphans } from '../src/adapters/embedded-postgres/server-processes.ts'
import { freshDataDir, hostOf, type OwnServer, ownServer } from './own-server.ts'
import type { Trial } from './row.ts'

/** An unsupervised server: it stays down, and may be a standby. */
export interface PlainServer extends OwnServer {
  /** Kills all its processes at once. */
  crash(): Promise<void>
}

/** Starts a server on a copy of one data folder with these settings. A standby replays until it is promoted. */
export type Launch = (options?: {
  readonly settings?: Readonly<Record<string, string>>
  readonly isStandby?: boolean
}) => Promise<PlainServer>

/**
 * A primary that acknowledges a commit only when it is on the standby's disk, so that the commit outlives the primary.
 */
export const SYNCHRONOUS = { synchronous_standby_names: '*' }

const START_MS = 20_000

/** Passes a function that starts servers on copies of one data folder, and stops them afterwards. */
export async function withPlainServers(
  trial: Pick<Trial, 'folder' | 'sharedFolder'>,
  use: (launch: Launch) => Promise<void>,
): Promise<void> {
  const ends: (() => Promise<void>)[] = []
  try {
    await use(launch)
  } finally {
    for (const end of ends) await end()
  }

  async function launch({
    settings = {},
    isStandby = false,
  }: Parameters<Launch>[0] = {}): Promise<PlainServer> {
    const host = hostOf(trial)
    const dataDir = await freshDataDir(trial)
    const folder = prepareDataFolder(host, dataDir, trial.sharedFolder, () => {})
    const { cluster, account, log, password } = folder
    const binaries = prepareBinaries(host, account, stateFolder(host, trial.sharedFolder), () => {})
    if (isStandby) writeFileSync(join(cluster, 'standby.signal'), '')
    const port = await freePort()
    const all = {
      listen_addresses: '127.0.0.1',
      port: `${port}`,
      unix_socket_directories: '',
      ...settings,
    }
    const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const output = openSync(log, 'a')
    const child = spawn(binaries.postgres, ['-D', cluster, ...flags], {
      cwd: cluster,
      env: SERVER_ENV,
      stdio: ['ignore', output, output],
      detached: true,
      ...accountIdentity(folder),
    })
    closeSync(output)
    child.unref()
    const crash = () => killOrphans(cluster)
    ends.push(async () => {
      await crash()
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
    })
    const server = ownServer(`postgres://latchkey:${password}@127.0.0.1:${port}/latchkey`, cluster)
    for (const endMs = performance.now() + START_MS; ; await sleep(20)) {
      const isUp = await server.database.sql('select').then(
        () => true,
        () => false,
      )
      if (isUp) return { ...server, crash }
      if (child.exitCode !== null || performance.now() > endMs)
        throw new Error(`it did not start; see ${log}`)
    }
  }
}
