import type { Binaries } from './binaries.ts'
import type { DataFolder } from './data-folder.ts'
import type { Host } from './host.ts'

/** The input for starting the server of a data folder. */
export interface ServerPlan {
  readonly host: Host
  readonly folder: DataFolder
  readonly binaries: Binaries
  readonly startedBy: 'service' | 'command'
}

/** Where a server listens: on a port of 127.0.0.1, or on a socket in its cluster's folder. */
export interface Place {
  readonly port: number | undefined
}

/** A running server, as one role sees it. */
export interface OpenServer {
  readonly url: string
  readonly lost: Promise<never>
  close(): Promise<void>
}
