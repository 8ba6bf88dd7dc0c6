import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** What the embedded server needs to know about the machine; tests give their own. */
export interface Host {
  readonly platform: string
  readonly arch: string
  /** This process's user id; undefined where the system has none. */
  readonly uid: number | undefined
  readonly gid: number | undefined
  /** The text of /etc/passwd, empty where there is none. */
  readonly passwd: string
  /** Where a root service keeps what its server's account could not reach elsewhere. */
  readonly stateRoot: string
  /** The file that a package's name resolves to; throws when it is not installed. */
  resolvePackage(name: string): string
}

/** The machine this process runs on. */
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

/** The folder under `stateRoot` that belongs to one checkout. */
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
