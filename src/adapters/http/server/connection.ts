import type { Socket } from 'node:net'
import type { HttpError } from '../errors.ts'
import type { Exchange } from './exchange.ts'
import type { Pipeline } from './pipelining.ts'

/** A socket with its exchanges. */
export interface Connection extends Pipeline {
  readonly open: Exchange[]
  last: Exchange | null
  condemned: boolean
  /** Whether the socket closes after the last response, whatever headers that response has. */
  ends: boolean
  /** The parser's failure, which is sent after the responses to earlier requests. */
  failure: HttpError | null
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
  }
}

/** Removes the item. Returns false when it is not in the list. */
export function removeItem<T>(items: T[], item: T): boolean {
  const index = items.indexOf(item)
  if (index === 0) items.shift()
  else if (index > 0) items.splice(index, 1)
  return index >= 0
}
