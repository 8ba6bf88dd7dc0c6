import { accessSync, constants, existsSync, type Stats, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type CheckResult, checkFailed, checkPassed } from '../../lib/check-result.ts'

/** A few thousand lines, and what PostgreSQL needs to stop in order. */
const MIN_FREE_BYTES = 1024 * 1024
/** What a new PostgreSQL database takes. */
const NEW_DATABASE_BYTES = 64 * 1024 * 1024

/** Checks that other accounts can neither read nor write a secret file. Does not open it. */
export function secretFile(name: string, path: string): CheckResult {
  const stats = found(path)
  if (stats === null)
    return checkFailed(name, 'failure', `${path} cannot be accessed.`, 'Check the path and the rights to it.')
  const mode = modeOf(stats)
  const facts = { path, mode }
  if (stats.mode & 0o022)
    return checkFailed(
      name,
      'failure',
      `${path} can be written by others (${mode}).`,
      `chmod 600 ${path}`,
      facts,
    )
  if (stats.mode & 0o004)
    return checkFailed(
      name,
      'warning',
      `${path} can be read by every account (${mode}).`,
      `chmod 600 ${path}`,
      facts,
    )
  return checkPassed(name, `${path} cannot be read by others (${mode}).`, facts)
}

/** Checks that only its owner can enter the folder of a database, and that its disk has space. */
export function databaseFolder(name: string, path: string): CheckResult {
  const stats = found(path)
  if (freeBytes(path) < (stats === null ? NEW_DATABASE_BYTES : MIN_FREE_BYTES)) return diskFull(name, path)
  if (stats === null)
    return checkPassed(name, `${path} does not exist yet; the first start creates it.`, { path })
  const mode = modeOf(stats)
  const facts = { path, mode }
  if (stats.mode & 0o077)
    return checkFailed(
      name,
      'warning',
      `${path} can be entered by others (${mode}).`,
      `chmod 700 ${path}`,
      facts,
    )
  return checkPassed(name, `${path} is accessible only to its owner (${mode}).`, facts)
}

/** Checks that lines can be appended to a file. Neither creates nor opens it. */
export function appendableFile(name: string, path: string): CheckResult {
  const stats = found(path)
  const target = stats === null ? dirname(path) : path
  if (!isWritable(target) || stats?.isDirectory())
    return checkFailed(
      name,
      'failure',
      `${path} cannot be written.`,
      'Name a file in a folder where this account may write.',
      { path },
    )
  if (freeBytes(path) < MIN_FREE_BYTES) return diskFull(name, path)
  if (stats === null) return checkPassed(name, `${path} does not exist yet and can be created.`, { path })
  const facts = { path, mode: modeOf(stats) }
  if (stats.isFile() && stats.mode & 0o006)
    return checkFailed(
      name,
      'warning',
      `${path} is open to every account (${facts.mode}).`,
      `chmod 600 ${path}`,
      facts,
    )
  return checkPassed(name, `${path} can be written (${facts.mode}).`, facts)
}

function diskFull(name: string, path: string): CheckResult {
  return checkFailed(name, 'failure', `The disk of ${path} is full.`, 'Free space on it.', { path })
}

/** The free space on the disk of a path, of which the last parts may not exist. */
function freeBytes(path: string): number {
  let folder = path
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

function found(path: string): Stats | null {
  try {
    return statSync(path)
  } catch {
    return null
  }
}

function modeOf({ mode }: Stats): string {
  return (mode & 0o777).toString(8).padStart(4, '0')
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
