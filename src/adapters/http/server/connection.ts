import type { Socket } from 'node:net'
import type { LatchkeyError } from '../../../domain/errors.ts'
import type { Exchange } from './exchange.ts'
import type { Linked } from './idle-list.ts'
import type { Pipeline } from './pipelining.ts'
import { createProgress, type Progress } from './progress.ts'

/** A socket with its exchanges. */
export interface Connection extends Pipeline, Linked<Connection> {
  readonly open: Exchange[]
  last: Exchange | null
  condemned: boolean
  /** Whether the socket closes after the last response, whatever headers that response has. */
  ends: boolean
  /** The failure of the parser, or of a refused connection. It is sent after the responses to earlier requests. */
  failure: LatchkeyError | null
  readonly progress: Progress
  /** The sweep before which it became idle; Infinity before its first request, for which node has a timeout. */
  idleSinceSweep: number
}

export function createConnection(socket: Socket): Connection {
  return {
    socket,
    open: [],
    waiting: [],
    isScheduled: false,
    last: null,
    condemned: false,
    ends: false,
    failure: null,
    progress: createProgress(),
    idleSinceSweep: Infinity,
    older: null,
    newer: null,
    isLinked: false,
  }
}

/** Removes the item. Returns false when it is not in the list. */
export function removeItem<T>(items: T[], item: T): boolean {
  const index = items.indexOf(item)
  if (index === 0) items.shift()
  else if (index > 0) items.splice(index, 1)
  return index >= 0
}
