import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { makeReachable } from './server-account.ts'

/**
 * Creates the symbolic links of the package, because npm may not have run the install script that creates them. Returns
 * false if this account may not create them.
 */
export function createLinks(native: string): boolean {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return true
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  try {
    for (const { source, target } of links)
      createLink(join(dirname(native), source), join(dirname(native), target))
    return true
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

function createLink(source: string, target: string): void {
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) return
  try {
    symlinkSync(relative(dirname(target), source), target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * Copies the programs unless a copy exists, and returns its folder. The final rename is atomic, so that a partial copy is
 * never used, even when several processes copy at once.
 */
export function copyOnce(native: string, target: string, note: (sentence: string) => void): string {
  const copy = join(target, 'native')
  if (!existsSync(target)) {
    makeReachable(dirname(target))
    const partial = `${target}.${process.pid}-${Date.now()}`
    try {
      cpSync(native, join(partial, 'native'), { recursive: true, verbatimSymlinks: true })
      createLinks(join(partial, 'native'))
      openToAll(partial)
      renameSync(partial, target)
    } catch (error) {
      if (!existsSync(target)) throw error
    } finally {
      rmSync(partial, { recursive: true, force: true })
    }
  }
  note(`The PostgreSQL programs are used from a copy in ${target}, where the server can reach them.`)
  return copy
}

/** In a checkout made under a strict umask, the server's account cannot read the single files. */
function openToAll(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) openToAll(path)
    else if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o100 ? 0o755 : 0o644)
  }
}
