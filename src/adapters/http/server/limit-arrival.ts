import type { Exchange } from './exchange.ts'

/** How often `onLate` is called again: it does nothing while earlier requests of the connection are still read. */
const REPEAT_MS = 1000

/**
 * Calls `onLate` when the request has not arrived completely `timeoutMs` after its dispatch, and then every second until it
 * has. Node has one limit for all requests of a server, which is that of the slowest route.
 */
export function limitArrival(
  exchange: Exchange,
  timeoutMs: number,
  onLate: (exchange: Exchange) => void,
): void {
  const { request } = exchange
  const { socket } = request
  let timer = setTimeout(check, timeoutMs)
  request.once('end', stop)
  // After the response, node emits no `close` on the request.
  socket.once('close', stop)

  function check(): void {
    if (exchange.isWhole) stop()
    else {
      timer = setTimeout(check, REPEAT_MS)
      onLate(exchange)
    }
  }

  function stop(): void {
    clearTimeout(timer)
    socket.off('close', stop)
  }
}
