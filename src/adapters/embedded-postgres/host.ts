import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** The properties of the machine that the embedded server depends on; tests replace them. */
export interface Host {
  readonly platform: string
  readonly arch: string
  /** The user id of this process; undefined if the system has no user ids. */
  readonly uid: number | undefined
  readonly gid: number | undefined
  /** The text of /etc/passwd, or an empty text. */
  readonly passwd: string
  /** Where a service that runs as root stores files that the server's account could not reach elsewhere. */
  readonly stateRoot: string
  /** Returns the file that a package's name resolves to. Throws when the package is not installed. */
  resolvePackage(name: string): string
}

/** Returns the machine of this process. */
export function thisHost(): Host {
  return {
    platform: process.platform,
    arch: process.arch,
    uid: process.geteuid?.(),
    gid: process.getegid?.(),
    passwd: passwdText(),
    stateRoot: '/var/lib/latchkey',
    resolvePackage: createRequire(import.meta.url).resolve,
  }
}

/** Returns the folder below `stateRoot` that belongs to one checkout. */
export function stateFolder(host: Host, home: string): string {
  return join(host.stateRoot, createHash('sha256').update(home).digest('hex').slice(0, 12))
}

function passwdText(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8')
  } catch {
    return ''
  }
}
