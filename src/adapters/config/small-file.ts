import { readFileSync, statSync } from 'node:fs'

/** No file of settings or secrets is near this size. */
const MAX_BYTES = 1024 * 1024

/**
 * Returns the bytes of a file. Throws as node does, and for anything that might never end: a device, a named pipe, a file
 * of more than 1 MiB. A pipe that this process has inherited is read, as the shell's `<(command)` passes it.
 */
export function readSmallFile(path: string): Uint8Array {
  const stats = statSync(path)
  const isInherited = stats.isFIFO() && /^\/(dev|proc\/self)\/fd\/\d+$/.test(path)
  // Reading a folder fails by itself.
  const isSmall = stats.isDirectory() || (stats.isFile() && stats.size <= MAX_BYTES)
  if (!isInherited && !isSmall) throw new NotSmallFile('Is not a regular file of at most 1 MiB.')
  return readFileSync(path)
}

/** The path names something else than a file of at most 1 MiB. */
export class NotSmallFile extends Error {}
