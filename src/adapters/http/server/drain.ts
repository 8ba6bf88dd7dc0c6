import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from '../../../domain/errors.ts'
import { sendFailure } from '../response/response.ts'
import { acceptBacklog } from './backlog.ts'
import type { ConnectionTable } from './connection-table.ts'
import type { ConnectionTracker } from './connection-tracker.ts'

const FINAL_RESPONSES_MS = 250

/** The durations of a drain, in milliseconds. */
export interface DrainTimes {
  /** How long requests are still served, so that load balancers can learn of the drain. */
  readonly delayMs: number
  /** How long requests in flight may then take. */
  readonly deadlineMs: number
}

/** Closes the listener after the delay, and resolves when every connection is closed. */
export async function drainServer(
  server: Server,
  tracker: ConnectionTracker,
  connections: ConnectionTable,
  { delayMs, deadlineMs }: DrainTimes,
): Promise<void> {
  closeBehindOpen(connections)
  if (delayMs > 0) await sleep(delayMs)
  await acceptBacklog()
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const timer = setTimeout(giveUp, deadlineMs)
  await new Promise<void>((resolve) => tracker.whenIdle(resolve))
  clearTimeout(timer)
  // The remaining connections have sent no complete request.
  server.closeAllConnections()
  await closed

  function giveUp(): void {
    for (const { open } of connections.all())
      for (const exchange of [...open]) sendFailure(exchange, new Unavailable())
    setTimeout(() => server.closeAllConnections(), FINAL_RESPONSES_MS)
  }
}

/** Closes each connection after its open exchanges. Starts none after them. */
function closeBehindOpen(connections: ConnectionTable): void {
  // A response that closes the connection drops those behind it, so only the last one of each connection may.
  for (const { open } of connections.all()) {
    const last = open.at(-1)
    if (last !== undefined) last.closes = true
  }
}
