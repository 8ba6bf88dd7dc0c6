import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { prepareBinaries } from './binaries.ts'
import { connectionUrl, type ServerAddress } from './connection-url.ts'
import { locateDataFolder, prepareDataFolder } from './data-folder.ts'
import { EmbeddedPostgresRefused, toRefusal } from './embedded-postgres-refused.ts'
import { ensureCluster } from './ensure-cluster.ts'
import { checkAccess } from './folder-access.ts'
import { type Host, stateFolder, thisHost } from './host.ts'
import type { ProcessLock } from './linked-lock.ts'
import { prepareOldBinaries, versionAdvice } from './old-binaries.ts'
import { stopPostmaster } from './postmaster.ts'
import { waitForLock } from './process-lock.ts'
import { completeReplacement, replaceCluster, verifiedCluster } from './replaced-cluster.ts'
import { socketFolder } from './server-address.ts'
import type { ServerPlan } from './server-plan.ts'
import { lockForService } from './service-server.ts'
import { openSession } from './session.ts'
import { ensureServer } from './start-server.ts'
import type { Upgrade } from './upgrade.ts'

/** Every start of a server removes the folders and files of this prefix. */
const DRAFT = '.initdb-upgrade'
const LOCK_TIMEOUT_MS = 90_000

/**
 * Opens the data folder for an upgrade. It is used exclusively: services and commands wait or fail meanwhile. Returns null when the folder is
 * of the current major version. Throws `EmbeddedPostgresRefused`, also when a service uses the folder.
 */
export async function openUpgrade(
  options: { readonly dataDir: string | undefined; readonly home: string; readonly oldBinaries: string },
  host: Host = thisHost(),
): Promise<Upgrade | null> {
  const { path, isPrepared } = locateDataFolder(options, host)
  if (!isPrepared) throw new EmbeddedPostgresRefused(`There is no database in ${path}.`)
  const locks: ProcessLock[] = []
  const release = async () => {
    for (const lock of locks.reverse()) await lock.release()
  }
  try {
    const home = realpathSync(options.home)
    const folder = prepareDataFolder(host, options.dataDir, home, () => {})
    locks.push(await lockForService(folder))
    const start = await waitForLock(folder.path, 'start', folder.password, LOCK_TIMEOUT_MS)
    if (start === undefined)
      throw new EmbeddedPostgresRefused(
        `Another process has been starting the embedded PostgreSQL in ${path}.`,
      )
    locks.push(start)
    completeReplacement(folder)
    const copyRoot = host.uid === 0 ? stateFolder(host, home) : folder.path
    const binaries = prepareBinaries(host, folder.account, copyRoot, () => {})
    const from = readFileSync(join(folder.cluster, 'PG_VERSION'), 'utf8').trim()
    if (from === binaries.major) {
      await release()
      return null
    }
    if (Number(from) > Number(binaries.major))
      throw new EmbeddedPostgresRefused(versionAdvice(host, folder.path, from, binaries.major))
    checkAccess(host, folder)
    const old = prepareOldBinaries(host, folder, { prefix: options.oldBinaries, copyRoot, major: from })
    const oldFolder = join(folder.path, `postgres-old-${from}`)
    if (existsSync(oldFolder))
      throw new EmbeddedPostgresRefused(`${oldFolder} exists, from an earlier upgrade. Move it away first.`)
    const oldPlan: ServerPlan = { host, folder, binaries: old, startedBy: 'command' }
    const newPlan: ServerPlan = {
      host,
      binaries,
      folder: { ...folder, cluster: join(folder.path, DRAFT), log: `${folder.log}.upgrade` },
      startedBy: 'command',
    }
    return await openBoth(oldPlan, newPlan, oldFolder, release)
  } catch (error) {
    await release()
    throw toRefusal(error, path, host)
  }
}

async function openBoth(
  oldPlan: ServerPlan,
  newPlan: ServerPlan,
  oldFolder: string,
  release: () => Promise<void>,
): Promise<Upgrade> {
  const { folder } = oldPlan
  const draft = newPlan.folder.cluster
  const rowsFile = `${draft}.sql`
  let isFinished = false
  const stop = async () => {
    await stopPostmaster(draft)
    await stopPostmaster(folder.cluster)
  }
  const close = async () => {
    if (!isFinished) {
      await stop()
      rmSync(draft, { recursive: true, force: true, maxRetries: 3 })
    }
    rmSync(rowsFile, { force: true })
    await release()
  }
  try {
    // Those of a killed upgrade or service.
    await stop()
    rmSync(verifiedCluster(folder.path), { recursive: true, force: true })
    const oldAddress = await start(oldPlan)
    await ensureCluster(newPlan.host, newPlan.folder, newPlan.binaries)
    const newAddress = await start(newPlan)
    // Gives the new database its name.
    await (await openSession(newAddress)).end()
    return {
      dataDir: folder.path,
      from: oldPlan.binaries.major,
      to: newPlan.binaries.major,
      oldUrl: connectionUrl(oldAddress),
      newUrl: connectionUrl(newAddress),
      rowsFile,
      async finish() {
        await stop()
        replaceCluster(folder, draft, oldFolder)
        isFinished = true
        return oldFolder
      },
      close,
    }
  } catch (error) {
    // `release` is left to the caller.
    await stop()
    rmSync(draft, { recursive: true, force: true, maxRetries: 3 })
    throw error
  }
}

async function start(plan: ServerPlan): Promise<ServerAddress> {
  const { port } = await ensureServer(plan, null, new AbortController().signal)
  const { cluster, password } = plan.folder
  const host = port === undefined ? (socketFolder(plan.host, cluster) ?? cluster) : '127.0.0.1'
  return { host, port: port ?? 5432, password }
}
