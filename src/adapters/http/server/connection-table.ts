import type { Socket } from 'node:net'
import type { DropReason } from '../../../application/ports/request-observers.ts'
import type { Connection } from './connection.ts'
import { IdleList } from './idle-list.ts'
import { isStalled } from './progress.ts'

/** Refused connections that may wait for their client to read the refusal. Each has a file descriptor until then. */
const MAX_REFUSED = 50

/** Every open connection of one server, within a limit. */
export class ConnectionTable {
  readonly #connections = new Map<Socket, Connection>()
  readonly #idle = new IdleList<Connection>()
  readonly #admitted = new Set<Connection>()
  readonly #max: number
  readonly #onDropped: (reason: DropReason) => void
  readonly #maxIdleSweeps: number
  #sweeps = 0

  /**
   * `onDropped` is called for each connection that is closed or refused because of a limit. A connection that was idle
   * during more than `maxIdleSweeps` calls of `closeIdle` is closed.
   */
  constructor(max: number, onDropped: (reason: DropReason) => void, maxIdleSweeps: number) {
    this.#max = max
    this.#onDropped = onDropped
    this.#maxIdleSweeps = maxIdleSweeps
  }

  /** The number of open connections, without the refused ones. */
  get size(): number {
    return this.#admitted.size
  }

  get(socket: Socket): Connection {
    return this.#connections.get(socket) as Connection
  }

  all(): readonly Connection[] {
    return [...this.#connections.values()]
  }

  /**
   * Adds a connection until its socket closes. At the limit, the connection that has been idle for longest is closed to
   * make room. Returns false when no connection is idle: the new one must then be refused.
   */
  add(connection: Connection): boolean {
    const { socket } = connection
    this.#connections.set(socket, connection)
    socket.once('close', () => {
      this.#release(connection)
      this.#connections.delete(socket)
    })
    const hasRoom = this.#admitted.size < this.#max || this.#closeOldestIdle()
    if (hasRoom) {
      this.#admitted.add(connection)
      this.#idle.add(connection)
      return true
    }
    this.#onDropped('refused')
    if (this.#connections.size - this.#admitted.size > MAX_REFUSED) socket.destroy()
    return false
  }

  /** The connection has a request in progress. */
  markBusy(connection: Connection): void {
    this.#idle.remove(connection)
  }

  /** The connection has no request in progress. */
  markIdle(connection: Connection): void {
    if (!this.#admitted.has(connection)) return
    this.#idle.add(connection)
    connection.idleSinceSweep = this.#sweeps
  }

  /** Closes the connections that have waited for a next request for too long. Called at regular intervals. */
  closeIdle(): void {
    this.#sweeps += 1
    for (let oldest = this.#idle.first(); oldest !== null; oldest = this.#idle.first()) {
      if (this.#sweeps - oldest.idleSinceSweep <= this.#maxIdleSweeps) break
      this.#close(oldest)
    }
  }

  /** Closes each connection whose client has accepted no byte of its responses for this time. */
  closeStalled(maxStallMs: number): void {
    for (const [socket, { progress }] of this.#connections) {
      if (socket.destroyed || !isStalled(socket, progress, maxStallMs)) continue
      this.#onDropped('stalled')
      socket.destroy()
    }
  }

  #closeOldestIdle(): boolean {
    const oldest = this.#idle.first()
    if (oldest === null) return false
    this.#onDropped('idle')
    this.#close(oldest)
    return true
  }

  #close(connection: Connection): void {
    this.#release(connection)
    connection.socket.destroy()
  }

  #release(connection: Connection): void {
    this.#idle.remove(connection)
    this.#admitted.delete(connection)
  }
}
