import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { DataFolder } from './data-folder.ts'
import { syncFolder } from './sync-folder.ts'

/** The name of a new cluster that is complete and verified, until it takes the place of the old one. */
const VERIFIED = 'postgres-upgraded'

/** Returns the folder of a verified cluster. */
export function verifiedCluster(path: string): string {
  return join(path, VERIFIED)
}

/** Puts the verified cluster in the place of the current one, which is renamed to `oldFolder`. Durable after each step. */
export function replaceCluster({ path, cluster }: DataFolder, draft: string, oldFolder: string): void {
  renameSync(draft, verifiedCluster(path))
  syncFolder(path)
  renameSync(cluster, oldFolder)
  syncFolder(path)
  completeReplacement({ path, cluster })
}

/** Completes a replacement that was interrupted after the old cluster was renamed. The caller holds the start lock. */
export function completeReplacement({ path, cluster }: Pick<DataFolder, 'path' | 'cluster'>): void {
  if (existsSync(cluster) || !existsSync(verifiedCluster(path))) return
  renameSync(verifiedCluster(path), cluster)
  syncFolder(path)
}
