import { readFileSync } from 'node:fs'
import type { Configuration } from '../../application/configuration.ts'

/** The default where the operating system does not show the limit of file descriptors. */
const DEFAULT_MAX = 10_000
/** No more by default: each connection takes some kilobytes of memory. */
const LARGEST_DEFAULT = 65_536
const SMALLEST_DEFAULT = 16
/** Descriptors of files, the metrics listener, refused connections and node itself. */
const RESERVE = 200

/** The settings that determine the number of connections. */
type ConnectionSettings = Pick<Configuration, 'maxConnections' | 'poolMax'>

/**
 * Returns the number of client connections that this process accepts: `MAX_CONNECTIONS`, or what the limit of file
 * descriptors leaves.
 */
export function connectionLimit(settings: ConnectionSettings, maxDescriptors = descriptorLimit()): number {
  const byDescriptors = maxConnectionsByDescriptors(settings, maxDescriptors) ?? DEFAULT_MAX
  return settings.maxConnections ?? Math.min(LARGEST_DEFAULT, byDescriptors)
}

/**
 * Returns the number of connections for which file descriptors remain beside those that the process itself needs; null
 * where the limit is unknown.
 */
export function maxConnectionsByDescriptors(
  { poolMax }: ConnectionSettings,
  maxDescriptors = descriptorLimit(),
): number | null {
  if (maxDescriptors === null) return null
  return Math.max(SMALLEST_DEFAULT, maxDescriptors - poolMax - RESERVE)
}

/** Returns this process's soft limit of open files, `Infinity` without one, or null where Linux's `/proc` is missing. */
function descriptorLimit(): number | null {
  try {
    const [, soft = ''] = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft) || null
  } catch {
    return null
  }
}
