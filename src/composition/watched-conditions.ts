import { dirname } from 'node:path'
import type { ReadinessReport } from '../adapters/http/routes/probe-routes.ts'
import { diskSpace } from '../adapters/node-fs/disk-space.ts'
import type { DiskSpace, ReadinessGauge, Watched } from '../adapters/prometheus/gauges.ts'
import type { Configuration } from '../application/configuration.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import { isPassed } from './readiness-report.ts'

/** Returns what the metrics read about the conditions in which the service runs. */
export function watchedConditions(
  configuration: Configuration & { readonly maxConnections: number },
  version: string,
  database: OpenDatabase,
  report: () => Promise<ReadinessReport>,
): Pick<Watched, 'maxConnections' | 'versions' | 'readiness' | 'disks'> {
  return {
    maxConnections: configuration.maxConnections,
    versions: { service: configuration.appVersion ?? version, node: process.versions.node },
    readiness: async () => readinessGauge(await report()),
    disks: readDisks(configuration, database),
  }
}

/** Returns a function that reads the space of the folders on whose disks the service writes. */
function readDisks(
  { auditLog }: Configuration,
  { dataDir = null }: OpenDatabase,
): () => Promise<readonly DiskSpace[]> {
  const folders = [
    ...(auditLog === null ? [] : [['AUDIT_LOG', dirname(auditLog)] as const]),
    ...(dataDir === null ? [] : [['DATA_DIR', dataDir] as const]),
  ]
  return async () => {
    const spaces = await Promise.all(
      folders.map(async ([folder, path]) => {
        const space = await diskSpace(path)
        return space === null ? [] : [{ folder, ...space }]
      }),
    )
    return spaces.flat()
  }
}

/** Returns the readiness as its gauges show it. */
function readinessGauge({ ready, checks }: ReadinessReport): ReadinessGauge {
  const passed = Object.entries(checks).map(([name, result]) => [name, isPassed(result)] as const)
  return { ready, passed: Object.fromEntries(passed) }
}
