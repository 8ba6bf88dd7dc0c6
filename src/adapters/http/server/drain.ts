import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from '../../../domain/errors.ts'
import { sendFailure } from '../response/response.ts'
import { acceptBacklog } from './backlog.ts'
import type { ConnectionTracker } from './connections.ts'

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
  connections: ConnectionTracker,
  { delayMs, deadlineMs }: DrainTimes,
): Promise<void> {
  connections.closeBehindOpen()
  if (delayMs > 0) await sleep(delayMs)
  await acceptBacklog()
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const timer = setTimeout(giveUp, deadlineMs)
  await new Promise<void>((resolve) => connections.whenIdle(resolve))
  clearTimeout(timer)
  // The remaining connections have sent no complete request.
  server.closeAllConnections()
  await closed

  function giveUp(): void {
    for (const exchange of connections.open()) sendFailure(exchange, new Unavailable())
    setTimeout(() => server.closeAllConnections(), FINAL_RESPONSES_MS)
  }
}
