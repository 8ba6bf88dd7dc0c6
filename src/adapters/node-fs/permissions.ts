import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type CheckResult, checkFailed, checkPassed } from '../../lib/check-result.ts'

/** Whether others than its owner and its group can read a file of secrets, or write it. It is not opened. */
export function secretFile(name: string, path: string): CheckResult {
  const stats = found(path)
  if (stats === null)
    return checkFailed(
      name,
      'failure',
      `${path} cannot be looked at.`,
      'Check the path and the rights to it.',
    )
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
      `${path} can be read by everybody (${mode}).`,
      `chmod 600 ${path}`,
      facts,
    )
  return checkPassed(name, `${path} is closed to others (${mode}).`, facts)
}

/** Whether a folder of secrets is its owner's alone. */
export function secretFolder(name: string, path: string): CheckResult {
  const stats = found(path)
  if (stats === null)
    return checkPassed(name, `${path} is not there yet; the first start makes it.`, { path })
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
  return checkPassed(name, `${path} is its owner's alone (${mode}).`, facts)
}

/** Whether lines can be added to a file; it is neither made nor opened. */
export function appendableFile(name: string, path: string): CheckResult {
  const stats = found(path)
  const target = stats === null ? dirname(path) : path
  if (!isWritable(target))
    return checkFailed(
      name,
      'failure',
      `${path} cannot be written.`,
      'Name a file in a folder where this account may write.',
      { path },
    )
  if (stats === null) return checkPassed(name, `${path} is not there yet, and can be made.`, { path })
  const facts = { path, mode: modeOf(stats) }
  if (stats.isFile() && stats.mode & 0o006)
    return checkFailed(
      name,
      'warning',
      `${path} is open to everybody (${facts.mode}).`,
      `chmod 600 ${path}`,
      facts,
    )
  return checkPassed(name, `${path} can be written (${facts.mode}).`, facts)
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
