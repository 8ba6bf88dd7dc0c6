import { randomBytes } from 'node:crypto'
import {
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Binaries } from './binaries.ts'
import type { DataFolder } from './data-folder.ts'
import { EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import { checkAccess } from './folder-access.ts'
import type { Host } from './host.ts'
import { initdb } from './initdb.ts'
import { versionAdvice } from './old-binaries.ts'
import { completeReplacement } from './replaced-cluster.ts'
import { killOrphans } from './server-processes.ts'
import { syncFolder } from './sync-folder.ts'

/**
 * Creates the database cluster unless it exists. Returns true when it was created. It is built in a separate folder
 * and renamed when complete, so that a killed initdb leaves nothing that looks like a cluster.
 */
export async function ensureCluster(host: Host, folder: DataFolder, binaries: Binaries): Promise<boolean> {
  await removeDrafts(folder.path)
  completeReplacement(folder)
  if (existsSync(folder.cluster)) {
    checkAccess(host, folder)
    checkVersion(host, folder, binaries.major)
    return false
  }
  const draft = join(folder.path, `.initdb-${randomBytes(6).toString('hex')}`)
  const passwordFile = `${draft}.password`
  try {
    mkdirSync(draft, { mode: 0o700 })
    writeFileSync(passwordFile, folder.password, { mode: 0o600, flag: 'wx' })
    if (folder.account !== undefined) {
      lchownSync(draft, folder.account.uid, folder.account.gid)
      lchownSync(passwordFile, folder.account.uid, folder.account.gid)
    }
    while (!(await initdb(host, folder, binaries, draft, passwordFile)));
    renameSync(draft, folder.cluster)
    syncFolder(folder.path)
    return true
  } finally {
    rmSync(passwordFile, { force: true })
    rmSync(draft, { recursive: true, force: true })
  }
}

function checkVersion(host: Host, folder: DataFolder, major: string): void {
  const file = join(folder.cluster, 'PG_VERSION')
  const found = existsSync(file) ? readFileSync(file, 'utf8').trim() : 'an unknown version'
  if (found === major) return
  throw new EmbeddedPostgresRefused(versionAdvice(host, folder.path, found, major))
}

async function removeDrafts(path: string): Promise<void> {
  for (const name of readdirSync(path)) {
    if (!name.startsWith('.initdb-')) continue
    await killOrphans(join(path, name))
    rmSync(join(path, name), { recursive: true, force: true, maxRetries: 3 })
  }
}
