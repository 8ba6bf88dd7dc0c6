import { setImmediate as nextTurn } from 'node:timers/promises'

/** An event loop turn below this duration accepted no connection. */
const IDLE_TURN_MS = 0.1
const MAX_TURNS = 1000

/**
 * Resolves just after the listener has accepted the connections in its backlog. The operating system resets the others
 * when the listener closes, and a load balancer may have sent a request on them that it must not repeat.
 */
export async function acceptBacklog(): Promise<void> {
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const beganMs = performance.now()
    await nextTurn()
    if (performance.now() - beganMs < IDLE_TURN_MS) return
  }
}
